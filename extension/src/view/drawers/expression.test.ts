import { expect, it } from "vitest";
import type { Typed } from "../payload";
import { marked } from "./expression";

const wrong = (line: number, start: number, end: number): Typed => ({ ok: false, tensors: [], error: "no", line, start, end });
const TEXT = "A = one\nB = A[i] + C[i]\nlast";

it("marks the part that the kernel points at", () => {
  expect(marked(TEXT, wrong(2, 11, 15))).toEqual(["A = one\nB = A[i] + ", "C[i]", "\nlast"]);
});

it("the rest of the line where no end is given, a space at its end, nothing where there is no place", () => {
  expect(marked(TEXT, wrong(1, 4, 4))).toEqual(["A = ", "one", "\nB = A[i] + C[i]\nlast"]);
  expect(marked(TEXT, wrong(3, 99, 120))).toEqual([TEXT, " ", ""]);
  expect(marked(TEXT, wrong(0, 0, 0))).toEqual([TEXT, "", ""]);
  expect(marked(TEXT, wrong(12, 0, 3))).toEqual([TEXT, "", ""]);
  expect(marked(TEXT, { ...wrong(1, 0, 3), ok: true })).toEqual([TEXT, "", ""]);
  expect(marked(TEXT, null)).toEqual([TEXT, "", ""]);
});
