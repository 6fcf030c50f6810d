// The tree as it would be: the rows of now and of the preview in one list, each with what happens to it.
import { align } from "../code/align";
import type { Row } from "../payload";

export interface Ghost {
  row: Row;
  now: "kept" | "added" | "removed" | "changed";
  /** Of a changed row: its extent and chips before. */
  before?: Row;
}

export function ghosts(rows: Row[], next: Row[]): Ghost[] {
  const merged: Ghost[] = [];
  let [i, j] = [0, 0];
  const upTo = (a: number, b: number) => {
    while (i < a) merged.push({ row: rows[i++]!, now: "removed" });
    while (j < b) merged.push({ row: next[j++]!, now: "added" });
  };
  for (const [a, b] of align(rows, next, (x, y) => x.id === y.id)) {
    upTo(a, b);
    const [before, row] = [rows[i++]!, next[j++]!];
    merged.push(alike(before, row) ? { row, now: "kept" } : { row, now: "changed", before });
  }
  upTo(rows.length, next.length);
  return merged;
}

function alike(a: Row, b: Row): boolean {
  return a.level === b.level && a.extent === b.extent && a.tail === b.tail && a.chips.join("\n") === b.chips.join("\n");
}
