// How the numbers went along the steps: one small line each, the step that is looked at marked.
import type { History, Metrics } from "../payload";
import { useStore } from "../store";
import { bytes, count, seconds } from "../ui/format";
import { Sparkline } from "../ui/sparkline";

interface Trend {
  name: string;
  how: "measured" | "modelled";
  of: (metrics: Metrics) => number | null;
  say: (value: number | null) => string;
}

const moved = (m: Metrics) => (m.read === null || m.written === null ? null : m.read + m.written);

const TRENDS: Trend[] = [
  { name: "bytes moved", how: "modelled", of: moved, say: bytes },
  { name: "parallel tasks", how: "modelled", of: (m) => m.tasks, say: count },
  { name: "vector width", how: "modelled", of: (m) => m.lanes, say: count },
  { name: "arithmetic", how: "modelled", of: (m) => m.flops, say: count },
];

export function Trends() {
  const { history, at, width } = useStore();
  const spark = width.value === "narrow" ? 160 : width.value === "wide" ? 72 : 30;
  const all = history.value;
  const times = [all.start_seconds, ...all.steps.map((s) => s.seconds)];
  return (
    <ul class="tvl-trends" aria-label="Numbers along the steps">
      <TrendRow name="time" how="measured" values={times} at={at.value} say={seconds} spark={spark} log />
      {TRENDS.map(({ name, how, of, say }) => (
        <TrendRow key={name} name={name} how={how} values={along(all, of)} at={at.value} say={say} spark={spark} log={name !== "vector width"} />
      ))}
    </ul>
  );
}

/** The number at the start and after each step; a step without one has none. */
export function along(history: History, of: (metrics: Metrics) => number | null): (number | null)[] {
  const at = (metrics: Metrics | null) => (metrics ? of(metrics) : null);
  return [at(history.start), ...history.steps.map((s) => (s.status === "parked" ? null : at(s.metrics)))];
}

interface RowProps {
  name: string;
  how: string;
  values: (number | null)[];
  at: number;
  say: (value: number | null) => string;
  log: boolean;
  spark: number;
}

function TrendRow({ name, how, values, at, say, log, spark }: RowProps) {
  const now = values[at] ?? null;
  const first = values[0] ?? null;
  const words = `${name}: ${say(now)} ${how}${at > 0 && first !== null ? `, ${say(first)} at the start` : ""}`;
  return (
    <li title={words}>
      <span>
        {name} <b>{say(now)}</b>
      </span>
      <Sparkline width={spark} height={20} values={values} at={at} label={words} log={log} />
    </li>
  );
}
