// Start, pause, resume, stop; how far it is; how good it is.
import { Button } from "../view/ui/button";
import { plural, seconds, times } from "../view/ui/format";
import { useSession } from "./context";
import type { Asked, TuneState } from "./payload";

export function Head({ now }: { now: TuneState }) {
  const { lost } = useSession();
  return (
    <div class="tvn-head">
      <Doing now={now} />
      <Progress now={now} />
      <Best now={now} />
      {lost.value && <b class="tvl-tone-illegal">The kernel does not answer.</b>}
    </div>
  );
}

const ON_THE_WAY: Partial<Record<Asked["what"], string>> = {
  start: "starting …", pause: "pausing …", resume: "resuming …", stop: "stopping …",
}; // prettier-ignore

/** What is being done, in a word: at once, before the kernel says so. */
function word({ state }: TuneState, telling: string): string {
  const soon = ON_THE_WAY[telling as Asked["what"]];
  if (soon) return soon;
  if (state === "connecting") return "connecting …";
  if (state === "finishing") return "finishing what is being measured …";
  return state === "stopping" ? "stopping …" : state === "empty" ? "" : state;
}

function Doing({ now }: { now: TuneState }) {
  const { telling, tell } = useSession();
  const { state, count } = now;
  const wait = (telling.value && ON_THE_WAY[telling.value]) || false;
  const act = (what: Asked["what"]) => () => void tell(what, {}, "head");
  const going = state === "running" || state === "connecting";
  const paused = state === "paused";
  const ending = state === "finishing" || state === "stopping";
  return (
    <div class="tvl-row tvn-doing">
      {!going && !paused && !ending && (
        <Button
          id="tvn-start"
          label="Start"
          icon="run"
          kind="main"
          off={wait || (state === "empty" && "open a parameter first: there is nothing to vary yet")}
          onClick={act("start")}
        />
      )}
      {going && <Button label="Pause" off={wait} onClick={act("pause")} />}
      {paused && <Button label="Resume" icon="run" kind="main" off={wait} onClick={act("resume")} />}
      {(going || paused || ending) && (
        <Button label="Stop" icon="stop" off={wait || (state === "stopping" && "stopping")} onClick={act("stop")} />
      )}
      {!going && !paused && !ending && count > 0 && (
        <Button label="Clear" kind="quiet" hint="forget the trials; the file keeps them" off={wait} onClick={act("clear")} />
      )}
      <span class="tvl-soft-text">{word(now, telling.value)}</span>
    </div>
  );
}

function Progress({ now }: { now: TuneState }) {
  const { trials, limit, done, elapsed, left, state } = now;
  if (state === "empty" || state === "ready" || state === "connecting") return null;
  const share = Math.max(trials ? done / trials : 0, limit ? elapsed / limit : 0);
  const words = [
    trials ? `${done} of ${plural(trials, "trial")}` : plural(done, "trial"),
    limit ? `${whole(elapsed)} of ${seconds(limit)}` : whole(elapsed),
    left !== null && state !== "done" && `about ${whole(left)} left`,
  ].filter(Boolean);
  return (
    <div class="tvn-progress">
      <progress max={1} value={Math.min(1, share)} aria-label="Of the budget" />
      <span>{words.join(" · ")}</span>
    </div>
  );
}

/** Seconds that are looked at while they pass. */
const whole = (value: number): string => seconds(Math.round(value));

function Best({ now: { best, now } }: { now: TuneState }) {
  if (best === null && now === null) return null;
  return (
    <div class="tvn-best">
      {best !== null && <Fact name="best" value={seconds(best)} />}
      {now !== null && <Fact name="now" value={seconds(now)} />}
      {best !== null && now !== null && <Fact name="speed-up" value={times(now / best)} strong={best < now} />}
    </div>
  );
}

const Fact = ({ name, value, strong }: { name: string; value: string; strong?: boolean }) => (
  <span>
    <small>{name}</small> <b class={strong ? "tvn-strong" : ""}>{value}</b>
  </span>
);
