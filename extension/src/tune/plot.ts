// Where things are in the plots: numbers in, numbers and paths out. Nothing here draws.
import type { Knob, Retimed, Trial } from "./payload";

export interface Measured extends Trial {
  seconds: number;
}

export const isMeasured = (trial: Trial): trial is Measured => trial.outcome === "ok" && trial.seconds !== null;

export interface Point {
  x: number;
  y: number;
  trial: Trial;
}

export interface Scale {
  (value: number): number;
  ticks: number[];
}

/** A logarithmic scale of seconds, the least near pixel `from` and the most near `to`. Without any value it has no ticks. */
export function logScale(values: number[], from: number, to: number): Scale {
  if (!values.length) return Object.assign(() => (from + to) / 2, { ticks: [] });
  const low = Math.min(...values) / 1.12;
  const high = Math.max(...values) * 1.12;
  const span = Math.log(high / low) || 1;
  const scale = (v: number) => from + (Math.log(v / low) / span) * (to - from);
  return Object.assign(scale, { ticks: thinned(logTicks(low, high), scale, 22) });
}

/** 1, 2 and 5 of each decade within; where these are few, even steps. */
export function logTicks(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const all: number[] = [];
  for (let d = first; d <= last; d++) for (const m of [1, 2, 5]) all.push(Number(`${m}e${d}`));
  const inside = all.filter((v) => v >= low && v <= high);
  if (inside.length > 2) return inside;
  const step = evenStep((high - low) / 3);
  return Array.from({ length: 12 }, (_, i) => Number(((Math.ceil(low / step) + i) * step).toPrecision(4))).filter((v) => v <= high);
}

/** The next of 1, 2, 5, 10 ... that is not below. */
function evenStep(least: number): number {
  const ten = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5].map((m) => m * ten).find((s) => s >= least) ?? 10 * ten;
}

/** Of places, those that stand at least `room` pixels apart. */
export function thinned<T>(values: T[], at: (value: T) => number, room: number): T[] {
  let last = -Infinity;
  return values.filter((v) => {
    const here = at(v);
    if (Math.abs(here - last) < room) return false;
    last = here;
    return true;
  });
}

/** Trials 1..n on a line: with some room to come while the budget is far away, so that a run does not begin as a point. */
export function reach(count: number, budget: number | null): number {
  const soon = Math.max(10, Math.ceil(count * 1.25));
  return Math.max(count, 2, Math.min(budget ?? soon, soon));
}

export function countTicks(n: number): number[] {
  const least = evenStep(Math.max(1, n / 5));
  const step = least === 2 ? 5 : least; // 1, 5, 10: not 1, 2, 4
  return [1, ...Array.from({ length: Math.floor(n / step) }, (_, i) => (i + 1) * step).filter((v) => v > step / 2 && v > 1)];
}

/** The trials that were faster than all before them. */
export function records(trials: Trial[]): Measured[] {
  let best = Infinity;
  return trials.filter((t): t is Measured => {
    if (!isMeasured(t) || t.seconds >= best) return false;
    best = t.seconds;
    return true;
  });
}

const at = (v: number): number => Math.round(v * 10) / 10;

/** One path for any number of dots: lines of no length, that round ends make round. */
export const dots = (points: { x: number; y: number }[]): string => points.map(({ x, y }) => `M${at(x)} ${at(y)}h0`).join("");

export const crosses = (points: { x: number; y: number }[]): string =>
  points.map(({ x, y }) => `M${at(x - 3)} ${at(y - 3)}l6 6m0-6l-6 6`).join("");

export const diamonds = (points: { x: number; y: number }[]): string =>
  points.map(({ x, y }) => `M${at(x)} ${at(y - 6)}l6 6l-6 6l-6-6z`).join("");

/** A line with steps: at each point straight up or down to it, then on to the right until `end`. */
export function stairs(points: { x: number; y: number }[], end: number): string {
  const [first, ...rest] = points;
  if (!first) return "";
  return `M${at(first.x)} ${at(first.y)}${rest.map((p) => `H${at(p.x)}V${at(p.y)}`).join("")}H${at(end)}`;
}

export const line = (points: { x: number; y: number }[]): string =>
  points.map(({ x, y }, i) => `${i ? "L" : "M"}${at(x)} ${at(y)}`).join("");

/** The point nearest to a place, none farther than `within` pixels. */
export function nearest(points: Point[], x: number, y: number, within = 24): Point | null {
  let found: Point | null = null;
  let least = within ** 2;
  for (const p of points) {
    const far = (p.x - x) ** 2 + (p.y - y) ** 2;
    if (far > least) continue;
    least = far;
    found = p;
  }
  return found;
}

export const SHADES = 6;

/** How fast a trial is among the others: 0 the slowest part, SHADES - 1 the fastest. Same times are the same shade. */
export function shades(times: number[]): (seconds: number) => number {
  const sorted = [...times].sort((a, b) => a - b);
  const place = (v: number) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]! < v) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return (v) => SHADES - 1 - Math.min(SHADES - 1, Math.floor((place(v) / Math.max(1, sorted.length)) * SHADES));
}

/** The places of the values between two heights on an axis with `n` values, the first value at the bottom. */
export function brushed(n: number, from: number, to: number, top: number, bottom: number): number[] {
  const [high, low] = from < to ? [from, to] : [to, from];
  const places = Array.from({ length: n }, (_, i) => i);
  return places.filter((i) => {
    const y = valueAt(i, n, top, bottom);
    return y >= high && y <= low;
  });
}

export const valueAt = (place: number, n: number, top: number, bottom: number): number =>
  n > 1 ? bottom - (place / (n - 1)) * (bottom - top) : (top + bottom) / 2;

export const placeAt = (y: number, n: number, top: number, bottom: number): number =>
  Math.max(0, Math.min(n - 1, Math.round(((bottom - y) / (bottom - top)) * (n - 1))));

/** Every value of the trial is among those that the search may use. */
export function isAllowed(trial: Trial, knobs: Knob[]): boolean {
  return knobs.every((knob, i) => knob.on.includes(trial.values[i] ?? -1));
}

/** What a trial chose, knob by knob. */
export function chosen(trial: Trial, knobs: Knob[]): string[] {
  return knobs.map((knob, i) => knob.values[trial.values[i] ?? -1] ?? "other");
}

/** Names side by side, `gap` pixels apart, on as many lines as they need (three at most); what does not fit then is cut. */
export function staggered(names: string[], gap: number, letter: number): { text: string; line: number }[] {
  const longest = Math.max(...names.map((n) => n.length)) * letter + 10;
  const lines = Math.max(1, Math.min(3, Math.ceil(longest / gap)));
  const most = Math.max(1, Math.floor((lines * gap - 10) / letter));
  return names.map((name, i) => ({ text: name.length > most ? `${name.slice(0, most - 1)}…` : name, line: i % lines }));
}

/** How wide each of `n` cells is in so many pixels, and whether a time fits into it. */
export function fitting(width: number, n: number): { cell: number; text: boolean } {
  const cell = Math.max(11, Math.min(96, Math.floor(width / Math.max(1, n))));
  return { cell, text: cell >= 50 };
}

/** Names as short as they stay different: without ": factor", and without "C." where all begin so. */
export function shortNames(labels: string[]): string[] {
  const stage = labels[0]?.split(".")[0];
  const same = labels.every((l) => l.startsWith(`${stage}.`));
  const bare = labels.map((l) => (same ? l.slice(stage!.length + 1) : l));
  const plain = bare.map((l) => l.split(":")[0]!);
  return plain.map((l, i) => (plain.indexOf(l) === plain.lastIndexOf(l) ? l : bare[i]!));
}

/** "i factor 16 · j factor 32" */
export const named = (trial: Trial, knobs: Knob[]): string =>
  chosen(trial, knobs)
    .map((value, i) => `${knobs[i]!.label} ${value}`)
    .join(" · ");

export interface Ranked extends Measured {
  /** Its time is the one from the end, where the fastest were timed again in turns. */
  retimed: boolean;
}

/**
 * The fastest first. What was timed again at the end has its time of then, and is compared with trials after number
 * `since`. A time of before that is shorter than the best of these may be luck: it comes after it.
 */
export function ranked(trials: Trial[], retimed: Retimed[] = [], since = 0): Ranked[] {
  const later = new Map(retimed.map(({ index, seconds }) => [index, seconds]));
  const good = trials.filter(isMeasured).flatMap((t): Ranked[] => {
    const seconds = later.get(t.index);
    if (seconds === undefined) return [{ ...t, retimed: false }];
    return seconds === null ? [] : [{ ...t, seconds, spread: null, gflops: faster(t, seconds), retimed: true }];
  });
  const counts = (t: Ranked) => t.retimed || t.n > since;
  const least = good.reduce((best, t) => (counts(t) ? Math.min(best, t.seconds) : best), Infinity);
  const place = (t: Ranked) => (counts(t) || least === Infinity ? t.seconds : Math.max(t.seconds, least));
  return good.sort((a, b) => place(a) - place(b) || Number(counts(b)) - Number(counts(a)) || a.seconds - b.seconds || a.n - b.n);
}

/** GFLOP/s of the same arithmetic in another time. */
const faster = ({ gflops, seconds }: Measured, now: number): number | null => (gflops === null ? null : (gflops * seconds) / now);

/** Rank of each by `key`, smallest first, from 1; equal ones share the middle of their ranks. */
export function ranks(values: number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => values[a]! - values[b]!);
  const made = new Array<number>(values.length);
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end + 1 < order.length && values[order[end + 1]!] === values[order[start]!]) end++;
    for (let i = start; i <= end; i++) made[order[i]!] = (start + end) / 2 + 1;
    start = end + 1;
  }
  return made;
}
