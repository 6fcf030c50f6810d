import { expect, it } from "vitest";
import { along } from "../drawers/strip";
import { place } from "./sparkline";

it("first and last step at the edges, the largest value on top", () => {
  const points = place([1, 3, 2], 100, 20);
  expect(points.map((p) => p!.x)).toEqual([4, 50, 96]);
  expect(points.map((p) => p!.y)).toEqual([16, 4, 10]);
});

it("a step without a number is a gap; all alike is the middle", () => {
  expect(place([1, null, 1], 100, 20)).toEqual([{ x: 4, y: 10 }, null, { x: 96, y: 10 }]);
  expect(place([null], 100, 20)).toEqual([null]);
  expect(place([], 100, 20)).toEqual([]);
});

it("on a scale of ratios half as much is always as far", () => {
  const [a, b, c] = place([8, 4, 2], 100, 28, true).map((p) => p!.y);
  expect(b! - a!).toBeCloseTo(c! - b!, 1);
});

it("dots of a strip lie between the shortest and the longest time", () => {
  const range = { low: 0.001, high: 0.004 };
  expect([0.001, 0.002, 0.004].map((t) => along(t, range))).toEqual([4, 60, 116]);
  expect(along(0.001, { low: 0.001, high: 0.001 })).toBe(60);
});
