// A kernel that tunes in play: the same trials each time, as many as it is told to measure. For tests and the page in dev/.
import type { Card, Request } from "../../view/payload";
import type { Asked, Heat, Knob, Trial, TuneState, Update } from "../payload";

const POWERS = ["1", "2", "4", "8", "16", "32", "64", "128"];

export const knob = (id: string, label: string, more: Partial<Knob> = {}): Knob => ({
  id, label, values: POWERS, on: POWERS.map((_, i) => i), current: 4, kind: "number", help: "", ...more,
});

export const KNOBS: Knob[] = [
  knob("e1.x", "tile i: factor"),
  knob("e1.y", "tile j: factor", { current: 5 }),
  knob("e2.f", "split k: factor", { values: ["2", "4", "8", "16", "32", "64"], on: [0, 1, 2, 3, 4, 5], current: 1 }),
  knob("e5.u", "unroll", { values: ["no", "yes"], on: [0, 1], current: 0, kind: "word" }),
];

const splits = ["1", "2", "4", "8", "16", "32", "64"].flatMap((a) => ["1", "2", "4", "8", "16", "32", "64"].map((b) => `${b} x ${a}`));
const word = (name: string, values: string[]) => knob(`C.${name}`, `C.${name}`, { values, on: values.map((_, i) => i), current: -1, kind: "word", help: `what ${name} means` });

/** Of a whole expression. */
export const WHOLE: Knob[] = [
  word("i", splits), word("j", splits), word("k", ["1", "2", "4", "8", "16", "32", "64"]),
  word("order", ["S0 S1 R0 R1 S2", "S0 R0 S1 R1 S2", "S0 S1 R0 S2 R1", "S0 R0 R1 S1 S2"]), word("cache", ["0", "1"]),
  word("parallel", ["0", "1", "2"]), word("swap", ["0", "1"]), word("unroll", ["0", "8", "64"]), word("vectorize", ["1", "0"]),
]; // prettier-ignore

export function tuneState(over: Partial<TuneState> = {}): TuneState {
  return {
    n: 1, source: "steps",
    openable: [
      { step: "e1", param: "x_factor", label: "tile i, j: i factor", now: "16", open: true, count: 8, why: "" },
      { step: "e1", param: "y_factor", label: "tile i, j: j factor", now: "32", open: true, count: 8, why: "" },
      { step: "e2", param: "factor", label: "split k: factor", now: "4", open: true, count: 6, why: "" },
      { step: "e3", param: "order", label: "reorder: order", now: "io, jo, ko, ii, ki, ji", open: false, count: 0, why: "an order has too many values" },
    ],
    knobs: KNOBS, size: "768 combinations, 612 legal",
    searches: [
      { name: "model", label: "cost model, with annealing", available: true, why: "" },
      { name: "random", label: "random", available: true, why: "" },
      { name: "tpe", label: "Optuna TPE", available: false, why: "optuna is not installed" },
    ],
    search: "model", trials: 64, limit: 60, file: "matmul.trials.jsonl", state: "ready", done: 0, elapsed: 0, left: null, best: null,
    now: 0.0082, count: 0, failures: [], discarded: [{ text: "the tile is larger than the loop", count: 156 }], notes: [], retimed: [],
    since: 0, fleet: "", workers: [], ranks: [], shares: [], adopted: "", error: null, ...over,
  };
}

/** 0..1, the same for the same number. */
function chance(seed: number): number {
  const x = Math.sin(seed * 127.1 + 11.7) * 43758.5453;
  return x - Math.floor(x);
}

/** The n-th trial: the later, the nearer to where it is fast. */
export function trial(n: number, knobs: Knob[] = KNOBS): Trial {
  const near = Math.min(0.85, n / 80);
  const goal = [5, 6, 3, 1];
  const values = knobs.map((k, i) => {
    const aim = chance(n * 7 + i) < near ? (goal[i] ?? 0) : Math.floor(chance(n * 13 + i * 3) * k.values.length);
    return k.on.includes(aim) ? aim : (k.on[Math.floor(chance(n + i) * k.on.length)] ?? 0);
  });
  const far = values.reduce((sum, v, i) => sum + ((v - (goal[i] ?? 0)) / (knobs[i]!.values.length / 2)) ** 2 * [1, 0.8, 0.4, 0.1][i % 4]!, 0);
  const seconds = 0.0021 * Math.exp(far * 1.1) * (1 + 0.12 * chance(n * 31));
  const failed = chance(n * 17) < 0.07;
  return {
    n, index: values.join("."), values, outcome: failed ? "timeout" : "ok", reason: failed ? "it took longer than 1 s" : "",
    seconds: failed ? null : seconds, spread: failed ? null : 0.01 + 0.05 * chance(n * 3), gflops: failed ? null : 0.268 / seconds,
    predicted: n > 16 ? -Math.log(seconds) + (chance(n * 5) - 0.5) * 1.2 : null, worker: "local", again: false,
  };
}

export const PREVIEW = { act: { primitive: "tile", args: {} }, sign: "+", reason: "", tree: [], diff: [], deltas: [], card: null };

export interface FakeTuner {
  state: TuneState;
  trials: Trial[];
  asked: Asked[];
  answer(request: Request): unknown;
  /** Measures so many more. */
  measure(count: number): void;
  /** The five fastest were timed again, and took longer. */
  finish(): void;
  /** Refuses the next request of this kind. */
  refuse(what: Asked["what"], card: Card): void;
}

export function fakeTuner(over: Partial<TuneState> = {}): FakeTuner {
  const refusals = new Map<Asked["what"], Card>();
  const change = (next: Partial<TuneState>) => void (tuner.state = { ...tuner.state, ...next, n: tuner.state.n + 1 });
  const acts: Partial<Record<Asked["what"], (values: Record<string, unknown>) => unknown>> = {
    state: ({ n, since }): Update => {
      const from = Math.min(Number(since), tuner.trials.length);
      return { state: n === tuner.state.n ? null : tuner.state, trials: tuner.trials.slice(from), since: from };
    },
    heat: ({ x, y }) => heat(tuner, String(x), String(y)),
    open: ({ step, param }) => change({ openable: tuner.state.openable.map((o) => (o.step === step && o.param === param ? { ...o, open: true } : o)) }),
    close: ({ step, param }) => change({ openable: tuner.state.openable.map((o) => (o.step === step && o.param === param ? { ...o, open: false } : o)) }),
    source: ({ source }) => change({ source: source as TuneState["source"] }),
    allow: ({ knob: id, on }) => change({ knobs: tuner.state.knobs.map((k) => (k.id === id ? { ...k, on: on as number[] } : k)) }),
    settings: (values) => change(values as Partial<TuneState>),
    start: () => change({ state: "running" }),
    pause: () => change({ state: "paused" }),
    resume: () => change({ state: "running" }),
    stop: () => change({ state: "done", left: null }),
    clear: () => {
      tuner.trials = [];
      change({ state: "ready", best: null, count: 0, done: 0, failures: [], ranks: [], shares: [] });
    },
    trial: () => PREVIEW,
    adopt: ({ index }) => change({ adopted: String(index) }),
  };
  const tuner: FakeTuner = {
    state: tuneState(over),
    trials: [],
    asked: [],
    answer({ what, values = {} }) {
      const asked = what as Asked["what"];
      tuner.asked.push({ what: asked, values });
      const refused = refusals.get(asked);
      refusals.delete(asked);
      return refused ? { refused } : (acts[asked]?.(values) ?? null);
    },
    measure(count) {
      const from = tuner.trials.length;
      tuner.trials = [...tuner.trials, ...Array.from({ length: count }, (_, i) => trial(from + i + 1, tuner.state.knobs))];
      change(summary(tuner));
    },
    finish() {
      const fast = [...new Map(tuner.trials.filter((t) => t.seconds).map((t) => [t.index, t])).values()].sort((a, b) => a.seconds! - b.seconds!).slice(0, 5);
      const retimed = fast.map(({ index, seconds }, i) => ({ index, seconds: seconds! * (1.2 + 0.3 * i) }));
      change({ state: "done", retimed, since: tuner.trials.length, best: retimed[0]?.seconds ?? null });
    },
    refuse: (what, card) => void refusals.set(what, card),
  };
  return tuner;
}

function summary({ trials, state }: FakeTuner): Partial<TuneState> {
  const times = trials.flatMap((t) => t.seconds ?? []);
  const failed = trials.length - times.length;
  const done = trials.length;
  return {
    count: done, done, elapsed: done * 0.31, left: Math.max(0, (state.trials ?? done) - done) * 0.31, best: times.length ? Math.min(...times) : null,
    failures: failed ? [{ text: "timeout: it took longer than 1 s", count: failed }] : [],
    ranks: Array.from({ length: Math.floor(done / 16) }, (_, i) => ({ n: (i + 1) * 16, rho: 0.9 - 0.7 / (i + 1) })),
    shares: done > 16 ? state.knobs.map((k, i) => ({ knob: k.id, share: [0.46, 0.31, 0.12, 0.04][i % 4]! })) : [],
  };
}

function heat({ trials, state }: FakeTuner, x: string, y: string): Heat {
  const at = (id: string) => state.knobs.findIndex((k) => k.id === id);
  const [a, b] = [at(x), at(y)];
  const cells = state.knobs[b]!.values.map(() => state.knobs[a]!.values.map((): number | null => null));
  for (const t of trials) {
    const row = cells[t.values[b]!]!;
    const old = row[t.values[a]!];
    if (t.seconds !== null) row[t.values[a]!] = Math.min(old ?? Infinity, t.seconds);
  }
  const rows = cells.map((row, i) => [state.knobs[b]!.values[i]!, ...row.map((v) => (v === null ? "–" : String(v)))]);
  return { x, y, cells, table: { title: "The best time", head: ["", ...state.knobs[a]!.values], rows } };
}
