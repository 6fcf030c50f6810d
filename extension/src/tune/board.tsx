// The fastest trials, each to look at or to adopt; what failed and why; what else there is to say.
import { useRef, useState } from "preact/hooks";
import { nextOf } from "../view/focus";
import { Button } from "../view/ui/button";
import { Chip } from "../view/ui/chip";
import { gflops, plural, seconds, spread } from "../view/ui/format";
import { useSession } from "./context";
import type { Count, Knob, Trial, TuneState } from "./payload";
import { chosen, isMeasured, named, ranked, shortNames, type Ranked } from "./plot";
import { Refused } from "./refused";

const STEP = 12; // rows that one asks for at a time

export function Board({ now }: { now: TuneState }) {
  const { trials, looking } = useSession();
  const [shown, setShown] = useState(STEP);
  const all = ranked(trials.value, now.retimed, now.since);
  return (
    <>
      {looking.value && <Looking trial={looking.value} knobs={now.knobs} adopted={now.adopted} />}
      <Refused at="board" />
      <h3>Fastest</h3>
      {all.length ? (
        <Rows rows={all.slice(0, shown)} now={now} />
      ) : (
        <p class="tvn-note">What is measured stands here, the fastest first.</p>
      )}
      {all.length > shown && (
        <p class="tvn-note">
          <button type="button" class="tvl-link" onClick={() => setShown(shown + 2 * STEP)}>
            More: {shown} of {all.length} are shown
          </button>
        </p>
      )}
      <Counts title="Failed" of={now.failures} tone="illegal" />
      <Counts title="Not measured" of={now.discarded} tone="noeffect" />
      {now.notes.length > 0 && (
        <>
          <h3>Notes</h3>
          <ul class="tvn-counts">
            {now.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Looking({ trial, knobs, adopted }: { trial: Trial; knobs: Knob[]; adopted: string }) {
  const { look, adopt } = useSession();
  return (
    <div class="tvn-looking" role="group" aria-label={`Trial ${trial.n}`}>
      <p>
        <b>Trial {trial.n}</b>: {isMeasured(trial) ? seconds(trial.seconds) : `${trial.outcome}, ${trial.reason}`}. The tree and the
        code show its schedule.
      </p>
      <p class="tvl-soft-text">{named(trial, knobs)}</p>
      <p class="tvl-row">
        <Button
          label="Adopt"
          icon="check"
          kind="main"
          hint="The steps become those of this trial; one Undo takes it back"
          off={adopted === trial.index ? "the steps are so" : !isMeasured(trial) && "it failed"}
          onClick={() => void adopt(trial)}
        />
        <Button label="Back to tuning" onClick={() => void look(null)} />
      </p>
    </div>
  );
}

/** One tab stop; arrows go from row to row, Enter looks. */
function Rows({ rows, now }: { rows: Ranked[]; now: TuneState }) {
  const { look } = useSession();
  const [at, setAt] = useState(0);
  const body = useRef<HTMLTableSectionElement>(null);
  const stop = Math.min(at, rows.length - 1);
  const heard = (event: KeyboardEvent) => {
    if (event.target !== body.current?.children[stop]) return; // of a button in the row
    if (event.key === "Enter") void look(rows[stop]!);
    const to = event.key === "Enter" ? stop : nextOf(event.key, stop, rows.length, "y");
    if (to === null) return;
    event.preventDefault();
    setAt(to);
    (body.current!.children[to] as HTMLElement).focus();
  };
  return (
    <div class="tvl-scroll">
      <table class="tvl-table tvn-board">
        <thead>
          <tr>
            <th scope="col">
              <span class="tvl-hidden">rank</span>#
            </th>
            <th scope="col">time, measured{rows.length > 1 ? "; values other than the first's" : "; values"}</th>
            <th scope="col">
              <span class="tvl-hidden">what to do</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={heard}>
          {rows.map((trial, i) => (
            <Row key={trial.n} trial={trial} best={i ? rows[0]! : null} rank={i + 1} now={now} stop={i === stop} onFocus={() => setAt(i)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  trial: Ranked;
  best: Ranked | null;
  rank: number;
  now: TuneState;
  stop: boolean;
  onFocus: () => void;
}

function Row({ trial, best, rank, now, stop, onFocus }: RowProps) {
  const { look, adopt, looking } = useSession();
  const { n, index, again } = trial;
  const adopted = now.adopted === index;
  const width = trial.spread === null ? "" : spread(trial.spread * trial.seconds, trial.seconds);
  return (
    <tr tabIndex={stop ? 0 : -1} data-trial={n} aria-current={looking.value?.n === n ? "true" : undefined} onFocus={onFocus}>
      <td>{rank}</td>
      <td>
        <b>{seconds(trial.seconds)}</b>
        <small>
          {[width, trial.gflops !== null && gflops(trial.gflops)].filter(Boolean).join(" · ")}
        </small>
        {adopted && <Chip tone="accent">the steps now</Chip>}
        {trial.retimed && <Chip title="The fastest are timed once more at the end, in turns: this time counts">timed again</Chip>}
        {again && <Chip title={`read from ${now.file}, not measured now`}>from the file</Chip>}
        <Values trial={trial} best={best} knobs={now.knobs} />
      </td>
      <td>
        <span class="tvl-joined">
          <Button label="Look" hint={`trial ${n}`} onClick={() => void look(trial)} />
          <Button label="Adopt" hint={`trial ${n}`} off={adopted && "the steps are so"} onClick={() => void adopt(trial)} />
        </span>
      </td>
    </tr>
  );
}

/** Those that differ from the best's, each with the name of its knob; all of them are in the title. */
function Values({ trial, best, knobs }: { trial: Trial; best: Trial | null; knobs: Knob[] }) {
  const names = shortNames(knobs.map((k) => k.label));
  const values = chosen(trial, knobs);
  const other = best && chosen(best, knobs);
  const shown = values.flatMap((value, i) => (value === other?.[i] ? [] : [{ name: names[i]!, value }]));
  return (
    <div class="tvn-values" title={named(trial, knobs)}>
      {shown.map(({ name, value }) => (
        <span key={name}>
          {name} <b>{value}</b>
        </span>
      ))}
    </div>
  );
}

function Counts({ title, of, tone }: { title: string; of: Count[]; tone: "illegal" | "noeffect" }) {
  if (!of.length) return null;
  const total = of.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <h3>
        {title} <small class={`tvl-tone-${tone}`}>{plural(total, "time")}</small>
      </h3>
      <ul class="tvn-counts">
        {of.map(({ text, count }) => (
          <li key={text}>
            <b>{count}×</b> {text}
          </li>
        ))}
      </ul>
    </>
  );
}
