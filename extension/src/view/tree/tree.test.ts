import { expect, test } from "vitest";
import type { Frame, Row } from "../payload";
import { fits } from "./fit";
import { ghosts } from "./ghost";
import { neighbour, outline, range, step, toggled, visible } from "./outline";
import { divisors, snap, STEP, told } from "./snap";

const row = (id: string, level: number, kind: Row["kind"] = "loop", more: Partial<Row> = {}): Row => ({
  id,
  kind,
  level,
  stage: "C",
  name: id,
  extent: "8",
  n: 8,
  tail: "",
  reduce: false,
  mark: "",
  chips: [],
  step: 0,
  spoken: id,
  ...more,
});
const rows = [
  row("C", 0, "stage"),
  row("C.i", 1),
  row("C.j", 2),
  row("B", 3, "stage", { stage: "B" }),
  row("B.k", 4, "loop", { stage: "B" }),
  row("constructor", 0, "stage", { stage: "constructor" }),
  row("__proto__", 1, "loop", { stage: "constructor" }),
];
const tree = outline(rows);
const none = new Set<string>();

test("a row's descendants are the deeper rows behind it", () => {
  expect(tree.parent).toEqual([-1, 0, 1, 2, 3, -1, 5]);
  expect(tree.end).toEqual([5, 5, 5, 5, 5, 7, 7]);
  expect(visible(rows, tree, new Set(["C.i"]))).toEqual([0, 1, 5, 6]);
});

test("keys of the tree pattern", () => {
  expect(step("ArrowDown", 1, rows, tree, new Set(["C.i"]))).toEqual({ focus: 5 });
  expect(step("ArrowUp", 5, rows, tree, new Set(["C.i"]))).toEqual({ focus: 1 });
  expect(step("ArrowDown", 6, rows, tree, none)).toEqual({ focus: 6 });
  expect(step("ArrowLeft", 1, rows, tree, none)).toEqual({ close: "C.i" });
  expect(step("ArrowLeft", 1, rows, tree, new Set(["C.i"]))).toEqual({ focus: 0 });
  expect(step("ArrowRight", 1, rows, tree, new Set(["C.i"]))).toEqual({ open: "C.i" });
  expect(step("ArrowRight", 1, rows, tree, none)).toEqual({ focus: 2 });
  expect(step("ArrowRight", 4, rows, tree, none)).toEqual({});
  expect(step("End", 0, rows, tree, none)).toEqual({ focus: 6 });
  expect(step("q", 0, rows, tree, none)).toBeNull();
});

test("ranges, toggles and neighbours", () => {
  expect(range(rows, visible(rows, tree, none), 3, 1)).toEqual(["C.i", "C.j", "B"]);
  expect(toggled(["a", "b"], "a")).toEqual(["b"]);
  expect(toggled(["a"], "b")).toEqual(["a", "b"]);
  expect(neighbour(rows, "C.j", false)?.id).toBe("C.i");
  expect(neighbour(rows, "C.j", true)).toBeUndefined(); // B.k is another stage's
  expect(neighbour(rows, "C", true)).toBeUndefined();
});

test("divisors in order", () => {
  expect(divisors(36)).toEqual([1, 2, 3, 4, 6, 9, 12, 18, 36]);
  expect(divisors(7)).toEqual([1, 7]);
});

test("the edge snaps to divisors, and between them to factors with a tail", () => {
  expect(snap(32, 0)).toBeNull();
  expect(snap(32, STEP)).toEqual({ factor: 16, tail: false, text: "32 = 2 × 16" });
  expect(snap(32, 2.2 * STEP)?.factor).toBe(8);
  const odd = snap(32, 1.5 * STEP)!;
  expect(odd.tail).toBe(true);
  expect(odd.factor).toBe(11);
  expect(odd.text).toBe("32 = 2 × 11 + 10");
  expect(snap(33, 1e6)?.factor).toBe(1);
  expect(snap(1, 50)).toBeNull();
  expect(told(33, 16).text).toBe("33 = 2 × 16 + 1");
});

test("ghost rows: added, removed, changed, moved", () => {
  const next = [row("C", 0, "stage"), row("C.i.outer", 1), row("C.i.inner", 2), row("C.j", 3, "loop", { chips: ["vec 8"] })];
  const merged = ghosts([rows[0]!, rows[1]!, rows[2]!], next).map((g) => [g.row.id, g.now]);
  expect(merged).toEqual([
    ["C", "kept"],
    ["C.i", "removed"],
    ["C.i.outer", "added"],
    ["C.i.inner", "added"],
    ["C.j", "changed"],
  ]);
  const moved = ghosts([row("a", 1), row("b", 2)], [row("b", 1), row("a", 2)]);
  expect(moved.filter((g) => g.now === "removed")).toHaveLength(1);
  expect(moved.filter((g) => g.now === "added")).toHaveLength(1);
});

test("a loop's bar says which cache holds what one run of it touches", () => {
  const level = (id: string, bytes: number) => ({ id, name: id.split(".")[1]!, depth: 0, bytes, moved: bytes });
  const levels = [level("C.i", 2 ** 20), level("C.j", 32 * 1024), level("C.k", 64)];
  const machine = { name: "m", label: "m", lines: ["4 cores", "L1 32 KiB per core", "L2 512 KiB per core"] };
  const found = fits({ metrics: { levels } } as unknown as Frame, machine);
  expect([...found.values()].map((fit) => [fit.home, fit.part])).toEqual([["mem", 1], ["L1", 1 / 3], ["L1", 1 / 3]]);
  expect(found.get("C.j")!.text).toBe("one whole run of j touches 32 KiB of data: fits into L1 (modelled)");
  expect(found.get("C.i")!.text).toContain("1 MiB of data: more than a cache holds");
  expect(fits({ metrics: { levels } } as unknown as Frame, undefined).get("C.k")).toMatchObject({ home: "mem", part: 1 });
});
