// The rows of the schedule as a tree: which row belongs under which, which are to be seen, and where a key leads.
import type { Row } from "../payload";

export interface Outline {
  /** Per row: index of the row it is under, -1 at the top. */
  parent: number[];
  /** Per row: index just after its last descendant. */
  end: number[];
}

export function outline(rows: Row[]): Outline {
  const parent: number[] = [];
  const end = rows.map(() => rows.length);
  const above: number[] = [];
  rows.forEach((row, i) => {
    while (above.length && rows[above[above.length - 1]!]!.level >= row.level) end[above.pop()!] = i;
    parent.push(above.length ? above[above.length - 1]! : -1);
    above.push(i);
  });
  return { parent, end };
}

/** Indexes of the rows that no closed row hides. */
export function visible(rows: Row[], tree: Outline, closed: ReadonlySet<string>): number[] {
  const seen: number[] = [];
  for (let i = 0; i < rows.length;) {
    seen.push(i);
    i = closed.has(rows[i]!.id) ? tree.end[i]! : i + 1;
  }
  return seen;
}

export interface Step {
  focus?: number;
  open?: string;
  close?: string;
}

/** Where the tree pattern's keys lead from row `at`; null: not one of its keys. */
export function step(key: string, at: number, rows: Row[], tree: Outline, closed: ReadonlySet<string>): Step | null {
  const seen = visible(rows, tree, closed);
  const place = seen.indexOf(at);
  const inner = tree.end[at]! > at + 1;
  const shut = inner && closed.has(rows[at]!.id);
  switch (key) {
    case "ArrowDown":
      return { focus: seen[place + 1] ?? at };
    case "ArrowUp":
      return { focus: seen[place - 1] ?? at };
    case "Home":
      return { focus: seen[0] };
    case "End":
      return { focus: seen[seen.length - 1] };
    case "ArrowRight":
      return shut ? { open: rows[at]!.id } : inner ? { focus: at + 1 } : {};
    case "ArrowLeft":
      if (inner && !shut) return { close: rows[at]!.id };
      return tree.parent[at]! >= 0 ? { focus: tree.parent[at] } : {};
    default:
      return null;
  }
}

/** The ids of the visible rows between two rows, both included, in printing order. */
export function range(rows: Row[], seen: number[], from: number, to: number): string[] {
  const [low, high] = from < to ? [from, to] : [to, from];
  return seen.filter((i) => i >= low && i <= high).map((i) => rows[i]!.id);
}

export function toggled(ids: string[], id: string): string[] {
  return ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id];
}

/** The loops just outside and inside of a loop, of its own stage. */
export function neighbour(rows: Row[], id: string, inward: boolean): Row | undefined {
  const row = rows.find((r) => r.id === id);
  if (row?.kind !== "loop") return undefined;
  const loops = rows.filter((r) => r.kind === "loop" && r.stage === row.stage);
  return loops[loops.indexOf(row) + (inward ? 1 : -1)];
}
