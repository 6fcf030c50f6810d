// The best time for each pair of values of two knobs.
import { useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../view/store";
import { seconds } from "../view/ui/format";
import { useSession } from "./context";
import { isKey, Shades, Twin, useSize } from "./frame";
import { places } from "./knobs";
import type { Heat, Knob, TuneState } from "./payload";
import { fitting, shades } from "./plot";
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
  const frame = useRef<HTMLDivElement>(null);
  const [width] = useSize(frame);
  const [at, setAt] = useState<{ r: number; c: number } | null>(null); // places among those that are drawn
  const across = knobs.find((k) => k.id === heat.x)!;
  const down = knobs.find((k) => k.id === heat.y)!;
  const [columns, rows] = seen(heat.cells);
  const some = columns.length < across.values.length || rows.length < down.values.length;
  const times = heat.cells.flat().filter((v): v is number => v !== null);
  const shade = shades(times);
  const best = Math.min(...times);
  const names = Math.max(...rows.map((r) => down.values[r]!.length), 2) * 7 + 12;
  const { cell, text } = fitting(width - names, columns.length);
  const of = (r: number, c: number) => heat.cells[rows[r]!]?.[columns[c]!] ?? null;
  const heard = (event: KeyboardEvent) => {
    const move = ARROWS[event.key];
    if (!move || !isKey(event)) return;
    event.preventDefault();
    const near = (v: number, n: number) => Math.max(0, Math.min(n - 1, v));
    setAt(at ? { r: near(at.r + move[0], rows.length), c: near(at.c + move[1], columns.length) } : { r: 0, c: 0 });
  };
  return (
    <>
      <p class="tvn-note" id={`${uid}-heat`}>
        The best time, <b>{across.label}</b> across, <b>{down.label}</b> down
      </p>
      {!text && (
        <p class="tvn-note" role="status">
          {at ? (
            <>
              {across.label} <b>{across.values[columns[at.c]!]}</b>, {down.label} <b>{down.values[rows[at.r]!]}</b>:{" "}
              <b>{of(at.r, at.c) === null ? "nothing measured" : seconds(of(at.r, at.c))}</b>
            </>
          ) : (
            `The best is ${seconds(best)}. Point at a cell, or go there with the arrow keys, for its time.`
          )}
        </p>
      )}
      {/* A table is its own text twin: each cell has its time. */}
      <div class="tvn-heat" role="region" aria-labelledby={`${uid}-heat`} tabIndex={0} onKeyDown={heard} onBlur={() => setAt(null)}>
        <div ref={frame}>
          <table class={text ? "" : "tvn-tight"} style={{ width: `${names + cell * columns.length}px` }} onPointerLeave={() => setAt(null)}>
            <thead>
              <tr>
                <td style={{ width: `${names}px` }} />
                {columns.map((c) => (
                  <th key={c} scope="col">
                    {across.values[c]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, r) => (
                <tr key={row}>
                  <th scope="row">{down.values[row]}</th>
                  {columns.map((column, c) => {
                    const v = of(r, c);
                    const shown = v === null ? "" : `tvn-shade-${shade(v)}${v === best ? " tvn-top" : ""}`;
                    return (
                      <td key={column} class={`${shown}${at?.r === r && at.c === c ? " tvn-cell" : ""}`} onPointerEnter={() => setAt({ r, c })}>
                        {v === null ? <span class="tvl-hidden">nothing measured</span> : <span class={text ? "" : "tvl-hidden"}>{seconds(v)}</span>}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
      <Shades>
        each colour a sixth of what was measured; empty: not measured
        {some && "; values without any trial are left out"}
      </Shades>
      <Twin table={() => heat.table} />
    </>
  );
}

const ARROWS: Partial<Record<string, [down: number, across: number]>> = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
}; // prettier-ignore
