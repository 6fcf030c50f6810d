import { expect, test } from "vitest";
import { begunWord, duration, exampleCell, freeName, isLive, WORTH_ASKING } from "./words";

test("a word is begun", () => {
  expect(begunWord('lab.apply("split", "C.i.ou')).toBe("C.i.ou");
  expect(begunWord("s[C].vec")).toBe("vec");
  expect(begunWord('lab.apply("')).toBe("");
});

test("the kernel is asked where it knows more", () => {
  expect(WORTH_ASKING.test("lab.apply('split', 'C.")).toBe(true);
  expect(WORTH_ASKING.test("s[C].")).toBe(true);
  expect(WORTH_ASKING.test("lab.apply('split', 'C.i', factor=1")).toBe(true);
  expect(WORTH_ASKING.test("import num")).toBe(false);
});

test("a live cell is one by its first line", () => {
  expect(isLive("%%schedule --live\ns[C].split(i, 4)")).toBe(true);
  expect(isLive("\n%%schedule t --live")).toBe(true);
  expect(isLive("%%schedule\n# --live")).toBe(false);
  expect(isLive("%%scheduled --live")).toBe(false);
  expect(isLive("")).toBe(false);
});

test("times are short", () => {
  expect([2, 0.0061, 0.00012345, 5e-8].map(duration)).toEqual(["2 s", "6.1 ms", "123 µs", "50 ns"]);
});

test("a new notebook takes a free name", () => {
  expect(freeName(new Set())).toBe("Schedule Lab.ipynb");
  expect(freeName(new Set(["Schedule Lab.ipynb", "Schedule Lab 2.ipynb"]))).toBe("Schedule Lab 3.ipynb");
});

test("the example names what was set", () => {
  expect(exampleCell("", "")).toContain("lab = Lab()\n");
  expect(exampleCell("numba", 'a "b"')).toContain('Lab(target="numba", machine="a \\"b\\"")');
});
