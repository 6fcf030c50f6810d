// Two schedules side by side: which is faster, how sure that is, and why.
import type { Comparison, Reason, Run } from "../payload";
import { useStore } from "../store";
import { Button } from "../ui/button";
import { CardView } from "../ui/card";
import { seconds } from "../ui/format";
import { DiffLines } from "../ui/lines";
import { Refusal } from "../ui/refusal";
import { Spinner } from "../ui/spinner";
import { DataTable } from "../ui/table";
import { Drawer } from "./drawer";

export function CompareDrawer() {
  const { runs, acting } = useStore();
  const { comparison, rows } = runs.value;
  const done = rows.filter((r) => r.seconds !== null);
  return (
    <Drawer title="Compare" size="large">
      {acting.value && <Pick rows={done} comparison={comparison} />}
      <Refusal at="compare" />
      {comparison ? <Verdict comparison={comparison} /> : <Empty runs={done.length} />}
    </Drawer>
  );
}

const Empty = ({ runs }: { runs: number }) => (
  <p class="tvl-lead tvl-soft-text">
    {runs >= 2
      ? "Choose A and B. They are measured in turns: a busy moment of the machine slows both."
      : "Two runs are needed: run a schedule, change it, run it again."}
  </p>
);

function Pick({ rows, comparison }: { rows: Run[]; comparison: Comparison | null }) {
  const { pair, act, runs } = useStore();
  const chosen = pair.value;
  const told = chosen.a || chosen.b ? chosen : { a: comparison?.a ?? "", b: comparison?.b ?? "" };
  const b = told.b || (rows.find((r) => !r.pinned) ?? rows[0])?.id || "";
  const others = rows.filter((r) => r.id !== b);
  const a = told.a || (others.find((r) => r.pinned) ?? others[0])?.id || "";
  const going = runs.value.comparison?.state === "running";
  const off = !a || !b ? "Choose two runs" : a === b ? "A and B are the same run" : false;
  return (
    <div class="tvl-pick">
      <Side name="A" rows={rows} value={a} onPick={(id) => (pair.value = { a: id, b })} />
      <Button label="Swap" onClick={() => (pair.value = { a: b, b: a })} />
      <Side name="B" rows={rows} value={b} onPick={(id) => (pair.value = { a, b: id })} />
      {going ? (
        <Button label="Cancel" icon="stop" onClick={() => void act({ kind: "cancel", what: "compare" }, "compare")} />
      ) : (
        <Button label="Compare" kind="main" off={off} onClick={() => void act({ kind: "compare", ids: [a, b] }, "compare")} />
      )}
    </div>
  );
}

function Side({ name, rows, value, onPick }: { name: string; rows: Run[]; value: string; onPick: (id: string) => void }) {
  return (
    <label class="tvl-field">
      <b>{name}</b>
      <select value={value} onChange={(e) => onPick(e.currentTarget.value)}>
        {!rows.some((r) => r.id === value) && <option value={value}>choose</option>}
        {rows.map((r) => (
          <option key={r.id} value={r.id}>
            {`${r.title} (${r.id}) · ${seconds(r.seconds)}${r.pinned ? " · pinned" : ""}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function Verdict({ comparison }: { comparison: Comparison }) {
  const { state, verdict, text, error, reasons, model, diff, table } = comparison;
  if (state === "running")
    return (
      <p class="tvl-lead tvl-row">
        <Spinner label="comparing" /> {text || "Measuring A and B in turns."}
      </p>
    );
  if (error) return <CardView card={error} />;
  if (state === "cancelled") return <p class="tvl-lead tvl-soft-text">This comparison was cancelled.</p>;
  return (
    <>
      <p class={`tvl-verdict tvl-verdict-${verdict.split(" ")[0]}`}>
        <b>{text}</b>
        <Interval comparison={comparison} />
      </p>
      {model && <h3>Why</h3>}
      <ol class="tvl-reasons">
        {reasons.map((reason) => (
          <Why key={reason.text} reason={reason} />
        ))}
        {model && <li class="tvl-soft-text">{model}</li>}
      </ol>
      {table.rows.length > 0 && <DataTable table={table} />}
      {diff.length > 0 && <h3>Loops, from A to B</h3>}
      {diff.length > 0 && (
        <div class="tvl-scroll" tabIndex={0}>
          <DiffLines lines={diff} label="Loops, from A to B" />
        </div>
      )}
    </>
  );
}

const SCALE = 240;

/** The interval of the ratio beside 1, on a scale of ratios. */
function Interval({ comparison }: { comparison: Comparison }) {
  const { ratio, low, high } = comparison;
  if (ratio === null || low === null || high === null || low <= 0) return null;
  const reach = Math.max(Math.abs(Math.log(low)), Math.abs(Math.log(high)), Math.log(1.25)) * 1.15;
  const x = (v: number) => SCALE / 2 + (Math.log(v) / reach) * (SCALE / 2);
  return (
    <svg class="tvl-interval" viewBox={`0 0 ${SCALE} 28`} width={SCALE} height="28" aria-hidden="true">
      <path class="tvl-one" d={`M${SCALE / 2} 2v16`} />
      <path class="tvl-range" d={`M${x(low)} 10H${x(high)}`} />
      <circle cx={x(ratio)} cy="10" r="4" />
      <text y="27">A is faster</text>
      <text x={SCALE} y="27" text-anchor="end">
        B is faster
      </text>
    </svg>
  );
}

function Why({ reason }: { reason: Reason }) {
  const { shown, act, picture, tab, drawer, acting } = useStore();
  const { show } = reason;
  const loop = shown.value.tree.some((row) => row.id === show);
  const look = () => {
    drawer.value = "";
    if (loop) return void act({ kind: "select", ids: [show] });
    picture.value = show;
    tab.value = "pictures";
  };
  return (
    <li>
      <span>{reason.text}</span>
      <b>{reason.number}</b>
      <small>{reason.how}</small>
      {show && (acting.value || !loop) && (
        <button type="button" class="tvl-link" onClick={look}>
          Show
        </button>
      )}
    </li>
  );
}
