import { expect, test } from "vitest";
import type { Action, Param } from "../payload";
import { moved, place, read, rising, stepped } from "../ui/values";
import { changed, first, matches } from "./values";

const factor: Param = {
  name: "factor",
  label: "factor",
  kind: "factor",
  value: 8,
  choices: [1, 2, 4, 8, 16, 32, 3, 5].map((n) => ({ value: n, label: `${n}` })),
};

test("numbers become numbers, the rest goes to the kernel as it is", () => {
  expect(["16 ", "1e9", "0", "-3", "1e400", "n // 2", "0.5", ""].map(read)).toEqual([
    16,
    1e9,
    0,
    -3,
    "1e400",
    "n // 2",
    "0.5",
    "",
  ]);
});

test("stepping goes through what is offered, then doubles or halves", () => {
  expect(rising(factor.choices)).toEqual([1, 2, 4, 8, 16, 32]);
  expect(stepped(factor, 8, true)).toBe(16);
  expect(stepped(factor, 8, false)).toBe(4);
  expect(stepped(factor, 5, true)).toBe(8);
  expect(stepped(factor, 32, true)).toBe(64);
  expect(stepped(factor, 1, false)).toBe(1);
  expect(stepped(factor, "x", true)).toBe(1);
  expect(stepped({ ...factor, kind: "int", choices: [], most: 9 }, 9, true)).toBe(9);
});

test("acts are changed without touching what was sent", () => {
  const act = { primitive: "split", args: { parent: { axis: "C.i" }, factor: 8 } };
  expect(changed(act, "factor", 4).args.factor).toBe(4);
  expect(act.args.factor).toBe(8);
  const action = { name: "bind", act: null, params: [{ name: "thread", value: "threadIdx.x" }] } as unknown as Action;
  expect(first(action)).toEqual({ primitive: "bind", args: { thread: "threadIdx.x" } });
  expect(place([{ value: { axis: "C.i" }, label: "i" }], { axis: "C.i" })).toBe(0);
});

test("orders and search", () => {
  expect(moved(["a", "b", "c"], 2, 1)).toEqual(["a", "c", "b"]);
  const action = { name: "compute_at", label: "compute at", help: "Nests a stage in a loop" } as Action;
  expect([matches(action, ""), matches(action, "NEST"), matches(action, "split")]).toEqual([true, true, false]);
});
