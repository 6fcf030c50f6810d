import { expect, test } from "vitest";
import type { DiffLine, Line } from "../payload";
import { align } from "./align";
import { pieces } from "../ui/pieces";
import { found, nextHit } from "./find";
import { asText, changes, difference, folded } from "./rows";
import { reveal, span } from "./window";

const line = (t: string, d = 0, id?: string): Line => (id === undefined ? { d, t } : { d, t, id });

test("only lines near the visible ones are drawn", () => {
  expect(span(2000, 20, 0, 400)).toEqual({ first: 0, last: 32 });
  expect(span(2000, 20, 20_000, 400)).toEqual({ first: 988, last: 1032 });
  expect(span(2000, 20, 1e9, 400)).toEqual({ first: 2000, last: 2000 });
  expect(span(3, 20, 0, 400)).toEqual({ first: 0, last: 3 });
});

test("a line is revealed with the least scrolling", () => {
  expect(reveal(5, 20, 0, 400)).toBe(0);
  expect(reveal(50, 20, 0, 400)).toBe(620);
  expect(reveal(2, 20, 100, 400)).toBe(40);
});

test("align keeps the longest common part", () => {
  const same = (a: string, b: string) => a === b;
  expect(
    align([..."abcxyz"], [..."abqxz"], same)
      .map(([i]) => "abcxyz"[i])
      .join(""),
  ).toBe("abxz");
  expect(align([], ["a"], same)).toEqual([]);
});

test("folded loops hide their bodies", () => {
  const lines = [line("for i", 0, "C.i"), line("for j", 1, "C.j"), line("x", 2), line("end", 0)];
  expect(folded(lines, new Set(["C.i\n1"])).map((r) => r.kind === "line" && [r.number, r.hides])).toEqual([
    [1, 2],
    [4, 0],
  ]);
  expect(folded(lines, new Set())).toHaveLength(4);
  const twice = folded([lines[0]!, lines[0]!], new Set()).map((r) => r.key);
  expect(new Set(twice).size).toBe(2);
});

test("unchanged stretches of a diff fold, and open one by one", () => {
  const diff: DiffLine[] = Array.from({ length: 20 }, (_, i) => ({ sign: i === 10 ? "+" : " ", line: line(`l${i}`), at: i }));
  const rows = changes(diff, new Set());
  expect(rows.map((r) => (r.kind === "gap" ? `gap ${r.count}` : r.number))).toEqual(["gap 7", 8, 9, 10, 11, 12, 13, 14, "gap 6"]);
  expect(changes(diff, new Set([0]))).toHaveLength(15);
  expect(changes(diff, new Set(), false)).toHaveLength(20);
});

test("the diff without a kernel: a loop that is still there has changed", () => {
  const old = [line("for i in range(32):", 0, "C.i"), line("x", 1)];
  const next = [line("for i in parallel(32):", 0, "C.i"), line("y", 1), line("z", 1)];
  expect(difference(old, next).map((d) => [d.sign, d.line.t, d.at])).toEqual([
    ["-", "x", -1],
    ["~", "for i in parallel(32):", 0],
    ["+", "y", 1],
    ["+", "z", 2],
  ]);
  expect(difference(old, old).every((d) => d.sign === " ")).toBe(true);
});

test("search", () => {
  const lines = [line("for i in range(4):"), line("A[i] = B[i]"), line("Range")];
  expect(found(lines, "range")).toEqual([0, 2]);
  expect(found(lines, "Range")).toEqual([2]);
  expect(found(lines, "")).toEqual([]);
  expect(nextHit([0, 2], 0, false)).toBe(2);
  expect(nextHit([0, 2], 2, false)).toBe(0);
  expect(nextHit([0, 2], 0, true)).toBe(2);
  expect(nextHit([], 0, false)).toBe(-1);
});

test("pieces keep the text whole and mark words and hits, across words too", () => {
  const l: Line = {
    d: 0,
    t: "for <b> in",
    k: [
      [0, 3, "word"],
      [8, 10, "word"],
    ],
  };
  expect(
    pieces(l, "")
      .map((p) => p.text)
      .join(""),
  ).toBe(l.t);
  expect(
    pieces(l, "r <")
      .filter((p) => p.hit)
      .map((p) => [p.text, p.kind]),
  ).toEqual([
    ["r", "word"],
    [" <", ""],
  ]);
  expect(
    pieces({ d: 0, t: "ab", k: [[0, 99, "word"]] }, "")
      .map((p) => p.text)
      .join(""),
  ).toBe("ab");
});

test("copied text is indented", () => {
  expect(asText([line("a"), line("b", 2)])).toBe("a\n        b");
});
