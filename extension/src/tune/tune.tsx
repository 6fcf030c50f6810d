// Tuning: what may vary at the left, how it goes in the middle, the best at the right.
import { useEffect, useMemo } from "preact/hooks";
import { CardView } from "../view/ui/card";
import { Spinner } from "../view/ui/spinner";
import { Board } from "./board";
import { useSession } from "./context";
import { Head } from "./head";
import { Knobs } from "./knobs";
import { Openables } from "./openables";
import { Plots } from "./plots";
import { Refused } from "./refused";
import { Settings } from "./settings";

export function Tune({ root }: { root: HTMLElement }) {
  const { state, looking, lost } = useSession();
  const now = state.value;
  const looks = looking.value !== null;
  // The drawer makes room for the tree and the code while they show a trial.
  useEffect(() => {
    root.toggleAttribute("data-looking", looks);
    root.closest(".tvl-drawer-body")?.scrollTo?.(0, 0);
  }, [looks]);
  const knobs = useMemo(() => now && <Knobs knobs={now.knobs} size={now.size} />, [now?.knobs, now?.size]);
  if (!now)
    return (
      <>
        <Refused at="head" />
        <p class="tvl-lead tvl-soft-text">
          {lost.value ? "The kernel does not answer. The drawer goes on by itself when it does." : <Spinner label="loading" />}
        </p>
      </>
    );
  return (
    <>
      <Head now={now} />
      <Refused at="head" />
      {now.error && <CardView card={now.error} />}
      <div class="tvn-parts">
        {!looks && (
          <section class="tvn-left" aria-label="What may vary">
            <Openables now={now} />
            <Refused at="knobs" />
            <Settings now={now} />
            {knobs}
          </section>
        )}
        <section class="tvn-middle" aria-label="How it goes">
          <Plots now={now} />
        </section>
        <section class="tvn-right" aria-label="The best, and what failed">
          <Board now={now} />
        </section>
      </div>
    </>
  );
}
