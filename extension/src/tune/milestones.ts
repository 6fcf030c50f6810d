// What is said aloud of a search: that it began, a new best (not each: at most one in five seconds), that it was paused.
// How it ended the kernel says by itself, since it does so with the drawer closed too.
import { plural, seconds, times } from "../view/ui/format";
import type { TuneState } from "./payload";

const QUIET = 5000; // ms between two new bests

export function milestones(say: (text: string) => void, clock: () => number = () => performance.now()) {
  let before: TuneState | null = null;
  let told: number | null = null; // the best that was said last
  let at = -Infinity;
  return (state: TuneState): void => {
    const was = before?.state;
    before = state;
    if (was === undefined) return void (told = state.best); // the drawer was opened: nothing has happened
    const { best } = state;
    if (state.state !== was) {
      const text = changed(state);
      if (text) told = best;
      if (text) return say(text);
    }
    if (state.state !== "running" || best === null || best === told || clock() - at < QUIET) return;
    at = clock();
    told = best;
    say(`New best: ${seconds(best)}${faster(state)}.`);
  };
}

function changed(state: TuneState): string {
  if (state.state === "running") return "Tuning.";
  return state.state === "paused" ? `Paused after ${plural(state.done, "trial")}.` : "";
}

const faster = ({ best, now }: TuneState): string => (best && now ? `, ${times(now / best)} the speed of now` : "");
