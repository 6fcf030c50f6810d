import { expect, test, vi } from "vitest";
import { latest } from "./latest";

test("one request at a time, and the newest of those that wait", async () => {
  vi.useFakeTimers();
  const asked: number[] = [];
  const told: number[] = [];
  const out: ((n: number) => void)[] = [];
  const questions = latest<number, number>(
    (q) => (asked.push(q), new Promise((resolve) => out.push(resolve))),
    (a) => told.push(a),
  );
  questions.ask(1);
  await vi.advanceTimersByTimeAsync(1);
  questions.ask(2);
  questions.ask(3);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual([1]);
  out[0]!(10);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual([1, 3]);
  expect(told).toEqual([10]);
  questions.drop(); // the pointer left: the answer is not wanted any more
  out[1]!(30);
  await vi.advanceTimersByTimeAsync(1);
  expect(told).toEqual([10]);
  questions.ask(4, 150);
  await vi.advanceTimersByTimeAsync(100);
  questions.drop();
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toEqual([1, 3]);
  vi.useRealTimers();
});
