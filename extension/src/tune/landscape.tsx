// The best time for each pair of values of two knobs.
import { useEffect, useState } from "preact/hooks";
import { useStore } from "../view/store";
import { seconds } from "../view/ui/format";
import { useSession } from "./context";
import { Twin } from "./frame";
import { places } from "./knobs";
import type { Heat, Knob, TuneState } from "./payload";
import { SHADES, shades } from "./plot";
import { Refused } from "./refused";

const REST = 1000; // ms between two questions while trials come in

export function Landscape({ now }: { now: TuneState }) {
  const { ask, refused } = useSession();
  const { knobs, count } = now;
  const [picked, setPicked] = useState({ x: "", y: "" });
  const [heat, setHeat] = useState<Heat | null>(null);
  const known = (id: string, other: number) => (knobs.some((k) => k.id === id) ? id : (knobs[other]?.id ?? ""));
  const { x, y } = pair(known(picked.x, 0), known(picked.y, 1), knobs, picked.y !== "");
  const same = heat?.x === x && heat.y === y;
  useEffect(() => {
    if (!x || !y) return;
    let here = true;
    // The first at once; what comes later is waited for, so that a fast search does not ask for each trial.
    const timer = setTimeout(
      async () => {
        const { data, card } = await ask("heat", { x, y });
        if (!here) return;
        if (card) refused.value = { where: "heat", card };
        if (data) setHeat(data as Heat);
      },
      same ? REST : 0,
    );
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, [x, y, same && Math.floor(count / Math.max(1, count >> 6))]);
  if (knobs.length < 2) return <p class="tvn-note">A landscape needs two knobs: open another value at the left.</p>;
  return (
    <>
      <p class="tvl-row tvn-pickers">
        <Pick label="across" value={x} knobs={knobs} onPick={(id) => setPicked({ x: id, y: id === y ? x : y })} />
        <Pick label="down" value={y} knobs={knobs} onPick={(id) => setPicked({ x: id === x ? y : x, y: id })} />
      </p>
      <Refused at="heat" />
      {heat && same && <Cells heat={heat} knobs={knobs} />}
    </>
  );
}

/** Two different knobs. */
function pair(x: string, y: string, knobs: Knob[], chosen: boolean): { x: string; y: string } {
  if (x !== y || chosen) return { x, y };
  return { x, y: knobs.find((k) => k.id !== x)?.id ?? "" };
}

interface PickProps {
  label: string;
  value: string;
  knobs: Knob[];
  onPick: (id: string) => void;
}

const Pick = ({ label, value, knobs, onPick }: PickProps) => (
  <label class="tvl-field">
    <span>{label}</span>
    <select value={value} onChange={(e) => onPick(e.currentTarget.value)}>
      {knobs.map((k) => (
        <option key={k.id} value={k.id}>
          {k.label}
        </option>
      ))}
    </select>
  </label>
);

const MANY = 12; // values that all have a row or a column, measured or not

/** The columns and the rows that are drawn: of many values those that something was measured with. */
export function seen(cells: Heat["cells"]): [columns: number[], rows: number[]] {
  const there = (line: (number | null)[]) => line.some((v) => v !== null);
  const columns = places(cells[0] ?? []);
  const rows = places(cells);
  return [
    columns.length > MANY ? columns.filter((c) => there(cells.map((row) => row[c] ?? null))) : columns,
    rows.length > MANY ? rows.filter((r) => there(cells[r]!)) : rows,
  ];
}

function Cells({ heat, knobs }: { heat: Heat; knobs: Knob[] }) {
  const { uid } = useStore();
  const across = knobs.find((k) => k.id === heat.x)!;
  const down = knobs.find((k) => k.id === heat.y)!;
  const [columns, rows] = seen(heat.cells);
  const some = columns.length < across.values.length || rows.length < down.values.length;
  const times = heat.cells.flat().filter((v): v is number => v !== null);
  const shade = shades(times);
  const best = Math.min(...times);
  return (
    <>
      {/* A table is its own text twin: each cell has its time. */}
      <div class="tvn-heat" role="region" aria-labelledby={`${uid}-heat`} tabIndex={0}>
        <table>
          <caption id={`${uid}-heat`}>
            The best time, <b>{across.label}</b> across, <b>{down.label}</b> down
          </caption>
          <thead>
            <tr>
              <td />
              {columns.map((c) => (
                <th key={c} scope="col">
                  {across.values[c]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r}>
                <th scope="row">{down.values[r]}</th>
                {columns.map((c) => {
                  const v = heat.cells[r]![c] ?? null;
                  return (
                    <td key={c} class={v === null ? "" : `tvn-shade-${shade(v)}${v === best ? " tvn-top" : ""}`}>
                      {v === null ? <span class="tvl-hidden">nothing measured</span> : seconds(v)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="tvn-legend">
        <span>slow</span>
        {Array.from({ length: SHADES }, (_, i) => (
          <i key={i} class={`tvn-shade-${i}`} />
        ))}
        <span>
          fast, each colour a sixth of what was measured; empty: not measured
          {some && "; values without any trial are left out"}
        </span>
      </p>
      <Twin table={() => heat.table} />
    </>
  );
}
