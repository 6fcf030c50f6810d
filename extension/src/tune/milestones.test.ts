import { expect, it } from "vitest";
import { milestones } from "./milestones";
import { tuneState } from "./testing/kernel";

function heard() {
  const said: string[] = [];
  let now = 0;
  const hear = milestones((text) => said.push(text), () => now);
  return { said, at: (ms: number, over: Parameters<typeof tuneState>[0]) => ((now = ms), hear(tuneState(over))) };
}

it("says the start, a pause, and a new best at most once in five seconds", () => {
  const { said, at } = heard();
  at(0, { state: "ready" });
  at(100, { state: "running" });
  at(200, { state: "running", best: 0.004 });
  for (let ms = 300; ms < 5000; ms += 100) at(ms, { state: "running", best: 0.004 - ms * 1e-7 });
  expect(said).toEqual(["Tuning.", "New best: 4 ms, 2.05× the speed of now."]);
  at(5300, { state: "running", best: 0.0035 });
  expect(said.at(-1)).toBe("New best: 3.5 ms, 2.34× the speed of now.");
  at(5400, { state: "finishing", best: 0.0035 });
  at(5500, { state: "paused", best: 0.0035, done: 7 });
  at(9500, { state: "done", best: 0.002, done: 64, now: null });
  expect(said.slice(3)).toEqual(["Paused after 7 trials."]);
});

it("says nothing of what was so when the drawer was opened", () => {
  const { said, at } = heard();
  at(0, { state: "running", best: 0.004 });
  at(9000, { state: "running", best: 0.004 });
  expect(said).toEqual([]);
});
