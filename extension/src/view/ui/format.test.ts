import { expect, it } from "vitest";
import { bytes, count, gflops, plural, seconds, spread, times } from "./format";

it("bytes by 1024, counts by 1000", () => {
  expect([0, 512, 1024, 1536, 3 * 2 ** 20, 2 ** 30 - 1].map(bytes)).toEqual(["0 B", "512 B", "1 KiB", "1.5 KiB", "3 MiB", "1 GiB"]);
  expect([1, 999, 1000, 268_435_456, 1e9].map(count)).toEqual(["1", "999", "1 k", "268 M", "1 G"]);
});

it("times in the unit that reads best", () => {
  expect([3e-9, 4.5e-5, 0.0061, 0.1513, 0.9999, 1.5, 75].map(seconds)).toEqual(["3 ns", "45 µs", "6.1 ms", "151 ms", "1 s", "1.5 s", "1 min 15 s"]);
});

it("what is not known is a dash", () => {
  expect([bytes(null), count(undefined), seconds(NaN), gflops(Infinity), times(null)]).toEqual(["–", "–", "–", "–", "–"]);
  expect(spread(null, 1)).toBe("");
  expect(spread(0.1, 0)).toBe("");
});

it("spread is half the range, beside the middle", () => expect(spread(0.0002, 0.005)).toBe("±2 %"));

it("repeats that do not agree have no width", () => expect(spread(0.03, 0.005)).toBe("unsteady"));

it("counts in words", () => expect([plural(1, "step"), plural(2, "step"), plural(0, "element differs", "elements differ")]).toEqual(["1 step", "2 steps", "0 elements differ"]));
