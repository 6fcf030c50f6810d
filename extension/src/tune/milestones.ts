// What is said aloud of a search: that it began, a new best (not each: at most one in five seconds), how it ended.
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
  if (state.state === "paused") return `Paused after ${plural(state.done, "trial")}.`;
  if (state.state !== "done") return "";
  return `Tuning is over: ${plural(state.done, "trial")}, best ${seconds(state.best)}${faster(state)}.`;
}

const faster = ({ best, now }: TuneState): string => (best && now ? `, ${times(now / best)} the speed of now` : "");
