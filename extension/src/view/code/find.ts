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

export interface Piece {
  text: string;
  kind: string;
  hit: boolean;
}

/** A line's text cut at its coloured words and at what is searched. */
export function pieces(line: Line, search: string): Piece[] {
  const { t, k = [] } = line;
  const hits = places(t, search);
  const cuts = [...new Set([0, t.length, ...k.flatMap(([a, b]) => [a, b]), ...hits.flat()])].sort((a, b) => a - b);
  const result: Piece[] = [];
  for (let i = 0; i + 1 < cuts.length; i++) {
    const [from, to] = [cuts[i]!, Math.min(cuts[i + 1]!, t.length)];
    if (to <= from || from < 0) continue;
    const kind = k.find(([a, b]) => a <= from && to <= b)?.[2] ?? "";
    result.push({ text: t.slice(from, to), kind, hit: hits.some(([a, b]) => a <= from && to <= b) });
  }
  return result;
}

function places(text: string, search: string): [number, number][] {
  if (!search) return [];
  const inText = search === search.toLowerCase() ? text.toLowerCase() : text;
  const result: [number, number][] = [];
  for (let hit = inText.indexOf(search); hit >= 0; hit = inText.indexOf(search, hit + search.length)) {
    result.push([hit, hit + search.length]);
  }
  return result;
}
