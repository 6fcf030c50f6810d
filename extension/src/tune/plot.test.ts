import { describe, expect, it } from "vitest";
import type { Trial } from "./payload";
import {
  brushed, chosen, countTicks, crosses, diamonds, dots, fitting, isAllowed, logScale, logTicks, nearest, placeAt, ranked, ranks, reach, records, shades, SHADES, shortNames, staggered, stairs, thinned, valueAt,
} from "./plot"; // prettier-ignore
import { KNOBS, trial } from "./testing/kernel";

const took = (n: number, seconds: number | null): Trial => ({ ...trial(n), outcome: seconds === null ? "timeout" : "ok", seconds });

describe("scales", () => {
  it("the time axis is logarithmic: the same ratio is the same way", () => {
    const y = logScale([1e-3, 1e-1], 300, 0);
    expect(y(1e-3)).toBeLessThan(300);
    expect(y(1e-1)).toBeGreaterThan(0);
    expect(y(1e-3) - y(1e-2)).toBeCloseTo(y(1e-2) - y(1e-1), 6);
  });
  it("has ticks at 1, 2 and 5, and even ones where these are few", () => {
    expect(logTicks(0.9e-3, 2.1e-2)).toEqual([1e-3, 2e-3, 5e-3, 1e-2, 2e-2]);
    expect(logTicks(0.95e-3, 1.29e-3)).toEqual([1e-3, 1.2e-3]);
    expect(logTicks(3.1e-3, 3.61e-3)).toEqual([3.2e-3, 3.4e-3, 3.6e-3]);
  });
  it("one time, or the same time often, has a place", () => expect(Number.isFinite(logScale([2e-3, 2e-3], 100, 0)(2e-3))).toBe(true));
  it("labels never stand on each other", () => expect(thinned([0, 5, 10, 25, 26, 40], (v) => v, 10)).toEqual([0, 10, 25, 40]));
  it("a run with a large budget is not drawn as a point at the left", () => {
    expect(reach(8, 1000)).toBe(10);
    expect(reach(100, 1000)).toBe(125);
    expect(reach(100, 110)).toBe(110);
    expect(reach(100, 50)).toBe(100);
    expect(reach(0, null)).toBe(10);
  });
  it("trials are counted in whole steps", () => {
    expect(countTicks(10)).toEqual([1, 5, 10]);
    expect(countTicks(150)).toEqual([1, 50, 100, 150]);
  });
});

describe("marks", () => {
  it("the best so far goes down by steps, past what failed or was slower", () => {
    const all = [took(1, 5), took(2, null), took(3, 7), took(4, 2), took(5, 2)];
    expect(records(all).map((t) => t.n)).toEqual([1, 4]);
    expect(stairs([{ x: 10, y: 50 }, { x: 40, y: 20 }], 60)).toBe("M10 50H40V20H60");
    expect(stairs([], 60)).toBe("");
  });
  it("any number of dots is one path", () => {
    expect(dots([{ x: 1.04, y: 2 }, { x: 3, y: 4.06 }])).toBe("M1 2h0M3 4.1h0");
    expect(diamonds([{ x: 10, y: 10 }])).toBe("M10 4l6 6l-6 6l-6-6z");
    expect(crosses([{ x: 10, y: 10 }])).toBe("M7 7l6 6m0-6l-6 6");
  });
  it("the pointer finds the nearest, if it is near", () => {
    const points = [took(1, 1), took(2, 1)].map((t, i) => ({ x: i * 30, y: 0, trial: t }));
    expect(nearest(points, 20, 3)?.trial.n).toBe(2);
    expect(nearest(points, 10, 3)?.trial.n).toBe(1);
    expect(nearest(points, 15, 60)).toBeNull();
  });
  it("each shade is an equal part of the trials, the fastest the strongest", () => {
    const times = Array.from({ length: 60 }, (_, i) => i + 1);
    const all = times.map(shades(times));
    expect(all[0]).toBe(SHADES - 1);
    expect(all.at(-1)).toBe(0);
    for (let s = 0; s < SHADES; s++) expect(all.filter((v) => v === s)).toHaveLength(10);
    expect(shades([3])(3)).toBe(SHADES - 1);
  });
});

describe("values", () => {
  it("a brush takes the values it covers, whichever way it was drawn", () => {
    const y = (i: number) => valueAt(i, 5, 0, 100);
    expect(y(0)).toBe(100);
    expect(brushed(5, y(3) - 2, y(1) + 2, 0, 100)).toEqual([1, 2, 3]);
    expect(brushed(5, y(1) + 2, y(3) - 2, 0, 100)).toEqual([1, 2, 3]);
    expect(brushed(5, y(2) + 3, y(2) + 9, 0, 100)).toEqual([]);
    expect(brushed(1, 0, 100, 0, 100)).toEqual([0]);
  });
  it("a place on the axis is the value drawn there", () => {
    for (let i = 0; i < 7; i++) expect(placeAt(valueAt(i, 7, 20, 220) + 6, 7, 20, 220)).toBe(i);
    expect([placeAt(-50, 7, 20, 220), placeAt(900, 7, 20, 220)]).toEqual([6, 0]);
  });
  it("a trial is searched for again only if all its values are", () => {
    const t = { ...trial(1), values: [0, 1, 2, 0] };
    const without = KNOBS.map((k, i) => (i === 2 ? { ...k, on: [0, 1] } : k));
    expect([isAllowed(t, KNOBS), isAllowed(t, without)]).toEqual([true, false]);
    expect(chosen({ ...t, values: [0, 1, -1] }, KNOBS)).toEqual(["1", "2", "other", "other"]);
  });
});

describe("room", () => {
  it("names are as short as they stay different", () => {
    expect(shortNames(["C.i", "C.order"])).toEqual(["i", "order"]);
    expect(shortNames(["C.i", "D.i"])).toEqual(["C.i", "D.i"]);
    expect(shortNames(["split k: factor", "tile i, j: i factor", "tile i, j: j factor"])).toEqual(["split k", "tile i, j: i factor", "tile i, j: j factor"]);
    expect(shortNames([])).toEqual([]);
  });
  it("names of axes side by side take turns on lines, and are cut only where three do not do", () => {
    expect(staggered(["i", "time"], 80, 6)).toEqual([{ text: "i", line: 0 }, { text: "time", line: 0 }]);
    expect(staggered(["i", "vectorize", "time"], 35, 6).map((n) => [n.text, n.line])).toEqual([["i", 0], ["vectorize", 1], ["time", 0]]);
    expect(staggered(["vectorize", "unroll"], 12, 6)[0]).toEqual({ text: "vec…", line: 0 });
  });
  it("cells share the width; a time stands in them only where it fits", () => {
    expect(fitting(480, 4)).toEqual({ cell: 96, text: true });
    expect(fitting(400, 25)).toEqual({ cell: 16, text: false });
    expect(fitting(100, 25)).toEqual({ cell: 11, text: false });
  });
});

describe("ranks", () => {
  it("go from 1; equal values share the middle", () => expect(ranks([30, 10, 20, 20])).toEqual([4, 1, 2.5, 2.5]));
  it("only what was measured is ranked; of equal ones the earlier is first", () => {
    expect(ranked([took(1, 3), took(2, null), took(3, 1), took(4, 1)]).map((t) => t.n)).toEqual([3, 4, 1]);
  });
  it("what was timed again at the end has these times; what failed then is gone", () => {
    const all = [took(1, 4), took(2, 1), took(3, 2), took(4, 3)].map((t) => ({ ...t, index: `i${t.n}`, gflops: 12 / t.seconds! }));
    const retimed = [{ index: "i3", seconds: 2.4 }, { index: "i2", seconds: 3 }, { index: "i4", seconds: null }];
    const rows = ranked(all, retimed, 4);
    expect(rows.map((t) => [t.n, t.seconds, t.retimed])).toEqual([[3, 2.4, true], [2, 3, true], [1, 4, false]]);
    expect(rows[0]!.gflops).toBeCloseTo(5);
  });
  it("a first time of before never precedes the best of those, and one of afterwards may", () => {
    const all = [took(1, 2), took(2, 1), took(3, 1.5), took(4, 1.8)].map((t) => ({ ...t, index: `i${t.n}` }));
    const retimed = [{ index: "i1", seconds: 2.1 }, { index: "i3", seconds: 7 }];
    expect(ranked(all, retimed, 4).map((t) => t.n)).toEqual([1, 2, 4, 3]);
    expect(ranked(all, retimed, 3).map((t) => t.n)).toEqual([4, 2, 1, 3]);
  });
});
