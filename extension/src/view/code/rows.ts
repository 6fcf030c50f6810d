// What the code pane lists: lines, with what is folded away and what changed.
import { align } from "./align";
import type { DiffLine, Line } from "../payload";

export type Shown =
  | { kind: "line"; line: Line; number: number; sign: DiffLine["sign"]; hides: number; key: string }
  | { kind: "gap"; from: number; count: number; key: string };

const AROUND = 3; // unchanged lines kept on either side of a change
const WORTH = 4; // a gap must save at least so many lines

/** Lines under an indent that is folded are hidden; `closed` holds the keys of the folded lines. */
export function folded(lines: Line[], closed: ReadonlySet<string>): Shown[] {
  const keys = lineKeys(lines);
  const rows: Shown[] = [];
  for (let i = 0; i < lines.length;) {
    const key = keys[i]!;
    const hides = closed.has(key) ? bodyEnd(lines, i) - i - 1 : 0;
    rows.push({ kind: "line", line: lines[i]!, number: i + 1, sign: " ", hides, key });
    i += hides + 1;
  }
  return rows;
}

/** A loop keeps its fold through steps; other lines have their place only. A loop may be printed several times. */
function lineKeys(lines: Line[]): string[] {
  const times = new Map<string, number>();
  return lines.map(({ id }, i) => {
    if (id === undefined) return `#${i}`;
    const time = (times.get(id) ?? 0) + 1;
    times.set(id, time);
    return `${id}\n${time}`;
  });
}

/** Index just after the lines that are deeper than line `at`. */
export function bodyEnd(lines: Line[], at: number): number {
  let end = at + 1;
  while (end < lines.length && lines[end]!.d > lines[at]!.d) end++;
  return end;
}

/** A diff as rows; stretches without a change fold, those in `opened` (by their first index) do not. */
export function changes(diff: DiffLine[], opened: ReadonlySet<number>, fold = true): Shown[] {
  const near = nearChange(diff);
  const rows: Shown[] = [];
  for (let i = 0; i < diff.length;) {
    let end = i;
    while (end < diff.length && !near[end]) end++;
    if (fold && end - i >= WORTH && !opened.has(i)) {
      rows.push({ kind: "gap", from: i, count: end - i, key: `gap${i}` });
      i = end;
      continue;
    }
    for (end = Math.max(end, i + 1); i < end; i++) rows.push(changed(diff[i]!, i));
  }
  return rows;
}

function changed({ sign, line, at }: DiffLine, i: number): Shown {
  return { kind: "line", line, number: at < 0 ? 0 : at + 1, sign, hides: 0, key: `d${i}` };
}

function nearChange(diff: DiffLine[]): boolean[] {
  const near = diff.map(() => false);
  diff.forEach(({ sign }, i) => {
    if (sign !== " ") near.fill(true, Math.max(0, i - AROUND), i + AROUND + 1);
  });
  return near;
}

/** The diff of two programs, without a kernel: a line of the same loop in the same place has changed, others come and go. */
export function difference(old: Line[], next: Line[]): DiffLine[] {
  const result: DiffLine[] = [];
  let [i, j] = [0, 0];
  const upTo = (a: number, b: number) => {
    for (const line of old.slice(i, a)) {
      if (line.id === undefined || !next.slice(j, b).some((other) => other.id === line.id)) {
        result.push({ sign: "-", line, at: -1 });
      }
    }
    const gone = new Set(old.slice(i, a).flatMap((line) => (line.id === undefined ? [] : [line.id])));
    for (let at = j; at < b; at++) {
      const line = next[at]!;
      result.push({ sign: line.id !== undefined && gone.has(line.id) ? "~" : "+", line, at });
    }
    [i, j] = [a, b];
  };
  for (const [a, b] of align(old, next, (x, y) => x.d === y.d && x.t === y.t)) {
    upTo(a, b);
    result.push({ sign: " ", line: next[b]!, at: b });
    [i, j] = [a + 1, b + 1];
  }
  upTo(old.length, next.length);
  return result;
}

export function asText(lines: Line[]): string {
  return lines.map((line) => "    ".repeat(line.d) + line.t).join("\n");
}
