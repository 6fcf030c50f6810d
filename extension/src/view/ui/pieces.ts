// A line of a program cut at its coloured words and at what is searched in it.
import type { Line } from "../payload";

export interface Piece {
  text: string;
  kind: string;
  hit: boolean;
}

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
