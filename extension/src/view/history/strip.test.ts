import { expect, it } from "vitest";
import { history, step } from "../testing/fixture";
import { cards, groupName } from "./strip";
import { along } from "./trends";

const said = (...of: Parameters<typeof cards>) => cards(...of).map((c) => `${c.from}-${c.to} ${c.label}${c.folded ? " folded" : ""}${c.heads ? " heads" : ""}`);
const NONE = new Set<string>();

it("a recipe is one card, and a click on it leads to its end", () => {
  expect(said(history(), 7, NONE)).toEqual(["0-0 start", "1-1 tile i, j", "2-2 split k", "3-4 tile for cache folded", "5-5 fast", "6-6 parallel io", "7-7 unroll <b>ki</b> 🚀"]);
  expect(cards(history(), 7, NONE)[3]!.at).toBe(4);
});

it("it unfolds when it was opened, or when one stands inside of it", () => {
  const unfolded = ["3-3 reorder heads", "4-4 parallel io"];
  expect(said(history(), 7, new Set(["recipe tile for cache"])).slice(3, 5)).toEqual(unfolded);
  expect(said(history(), 3, NONE).slice(3, 5)).toEqual(unfolded);
  expect(said(history(), 4, NONE)[3]).toBe("3-4 tile for cache folded");
});

it("two uses of a recipe are two cards; a lone step of one is a step", () => {
  const of = ["r#1", "r#1", "r#2", "r#2", "r#3"].map((group, i) => step({ id: `e${i}`, label: `s${i}`, group }));
  expect(said(history({ steps: of }), 5, NONE)).toEqual(["0-0 start", "1-2 r folded", "3-4 r folded", "5-5 s4"]);
});

it("groups are called as a person would", () => {
  expect(["recipe:tile-for-cache#g3", "Register block#g12", "#1", "constructor"].map(groupName)).toEqual(["tile for cache", "Register block", "recipe", "constructor"]);
});

it("numbers along the steps: the start first, none where a step is parked", () => {
  expect(along(history(), (m) => m.tasks)).toEqual([1, 1, 1, 1, 32, 32, 32, null]);
});
