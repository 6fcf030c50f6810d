// Search in the lines of a pane.
import type { Line } from "../payload";

/** Indexes of the lines that hold the text; capitals count only when the text has some. */
export function found(lines: Line[], text: string): number[] {
  if (!text) return [];
  const exact = text !== text.toLowerCase();
  return lines.flatMap((line, i) => ((exact ? line.t : line.t.toLowerCase()).includes(text) ? [i] : []));
}

/** The next (or the one before) of the sorted hits from line `at`, around the end. */
export function nextHit(hits: number[], at: number, back: boolean): number {
  if (!hits.length) return -1;
  if (!back) return hits.find((hit) => hit > at) ?? hits[0]!;
  return [...hits].reverse().find((hit) => hit < at) ?? hits[hits.length - 1]!;
}
