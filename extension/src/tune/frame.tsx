// What the plots share: their size, their axes, what is said of a point, and their text twin.
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import type { Table } from "../view/payload";
import { gflops, seconds, spread } from "../view/ui/format";
import { DataTable } from "../view/ui/table";
import type { Knob, Trial, TuneState } from "./payload";
import { chosen, isMeasured, SHADES, type Point, type Scale } from "./plot";

/** The size of an element in CSS pixels, kept up to date. */
export function useSize(box: RefObject<HTMLElement | null>): [number, number] {
  const [size, setSize] = useState<[number, number]>([640, 320]);
  useLayoutEffect(() => {
    const element = box.current!;
    const set = () => {
      const { clientWidth: w, clientHeight: h } = element;
      if (w && h) setSize((old) => (old[0] === w && old[1] === h ? old : [w, h]));
    };
    set();
    const watch = new ResizeObserver(set);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return size;
}

export const PAD = { left: 58, right: 16, top: 28, bottom: 40 };

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const boxOf = ([width, height]: [number, number], pad = PAD): Box => ({
  left: pad.left,
  right: Math.max(pad.left + 40, width - pad.right),
  top: pad.top,
  bottom: Math.max(pad.top + 40, height - pad.bottom),
});

/** Seconds upwards at the left, with thin lines across: the same ratio is the same way. */
export function TimeAxis({ box, scale }: { box: Box; scale: Scale }) {
  return (
    <g class="tvn-axis">
      {scale.ticks.map((v) => (
        <g key={v} transform={`translate(0 ${scale(v)})`}>
          <path d={`M${box.left} 0H${box.right}`} />
          <text x={box.left - 6} dy="0.32em" text-anchor="end">
            {seconds(v)}
          </text>
        </g>
      ))}
      <text x="8" y={box.top - 14}>
        time of a run, logarithmic
      </text>
    </g>
  );
}

interface CountAxisProps {
  box: Box;
  ticks: number[];
  at: (n: number) => number;
  label: string;
}

export function CountAxis({ box, ticks, at, label }: CountAxisProps) {
  return (
    <g class="tvn-axis">
      <path class="tvn-edge" d={`M${box.left} ${box.bottom}H${box.right}`} />
      {ticks.map((n) => (
        <text key={n} x={at(n)} y={box.bottom + 22} text-anchor="middle">
          {n}
        </text>
      ))}
      <text x={(box.left + box.right) / 2} y={box.bottom + 36} text-anchor="middle">
        {label}
      </text>
    </g>
  );
}

interface TipProps {
  point: Point;
  now: TuneState;
  width: number;
  /** Came by keys: then it is read aloud. */
  aloud: boolean;
}

/** What is known of one trial, beside its point. */
export function Tip({ point: { x, y, trial }, now: { knobs, retimed }, width, aloud }: TipProps) {
  const right = x > width / 2;
  const side = right ? { right: `${width - x + 10}px` } : { left: `${x + 10}px` };
  const values = chosen(trial, knobs);
  const later = retimed.find((r) => r.index === trial.index);
  return (
    <div class="tvn-tip" style={{ ...side, top: `${y}px` }} aria-live={aloud ? "polite" : "off"}>
      <b>
        Trial {trial.n}: {isMeasured(trial) ? seconds(trial.seconds) : trial.outcome}
      </b>
      {isMeasured(trial) ? (
        <span>
          {[
            trial.spread !== null && spread(trial.spread * trial.seconds, trial.seconds),
            trial.gflops !== null && gflops(trial.gflops),
            trial.again && "from the file",
            trial.worker && `by ${trial.worker}`,
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      ) : (
        <span>{[trial.reason, trial.worker && `by ${trial.worker}`].filter(Boolean).join(" · ")}</span>
      )}
      {isMeasured(trial) && trial.reason && <span>{trial.reason}</span>}
      {later && <span>timed again at the end: {later.seconds === null ? "failed" : seconds(later.seconds)}</span>}
      {knobs.map((knob, i) => (
        <span key={knob.id} class="tvn-tip-value">
          <small>{knob.label}</small> <b>{values[i]}</b>
        </span>
      ))}
    </div>
  );
}

/** The text twin of a plot: made when it is opened. */
export function Twin({ table, children }: { table: () => Table; children?: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="tvn-twin" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Table</summary>
      {open && <DataTable table={table()} />}
      {children}
    </details>
  );
}

/** Under a plot: what its marks mean. */
export function Legend({ marks }: { marks: [mark: string, text: string][] }) {
  return (
    <p class="tvn-legend">
      {marks.map(([mark, text]) => (
        <span key={text}>
          <svg viewBox="0 0 20 12" width="20" height="12" aria-hidden="true">
            <path class={`tvn-${mark}`} d={MARKS[mark] ?? "M10 6h0"} />
            {mark === "again" && <path class="tvn-hole" d="M10 6h0" />}
          </svg>
          {text}
        </span>
      ))}
    </p>
  );
}

const MARKS: Record<string, string> = {
  best: "M1 3H10V9H19", now: "M1 6H19", failed: "M7 3l6 6m0-6l-6 6", retimed: "M10 1l5 5l-5 5l-5-5z",
}; // prettier-ignore

/** What the colours of a trial mean. */
export function Shades({ children }: { children: ComponentChildren }) {
  return (
    <p class="tvn-legend">
      <span class="tvn-ramp">
        slow
        {Array.from({ length: SHADES }, (_, i) => (
          <i key={i} class={`tvn-shade-${i}`} />
        ))}
        fast
      </span>
      <span>{children}</span>
    </p>
  );
}

export const isKey = (event: KeyboardEvent): boolean => !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;

/** The latest trials as a table: a browser does not like thousands of rows. */
export function trialTable(trials: Trial[], knobs: Knob[]): Table {
  const most = 200;
  const latest = trials.slice(-most).reverse();
  return {
    title: trials.length > most ? `The latest ${most} of ${trials.length} trials` : `${trials.length} trials`,
    head: ["trial", "time", "outcome", ...knobs.map((k) => k.label)],
    rows: latest.map((t) => [String(t.n), seconds(t.seconds), t.reason ? `${t.outcome}: ${t.reason}` : t.outcome, ...chosen(t, knobs)]),
  };
}
