import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Ask } from "./host";
import type { Reply } from "./payload";
import { pending } from "./pending";

let sent: { request: Ask; reply: () => void }[];
const send = (request: Ask) =>
  new Promise<Reply>((resolve) => sent.push({ request, reply: () => resolve({ re: sent.length, ok: true, data: request.cursor, card: null }) }));

beforeEach(() => {
  vi.useFakeTimers();
  sent = [];
});
afterEach(() => vi.useRealTimers());

it("says that it waits after 300 ms, and in words after a second", async () => {
  const asked = pending(send);
  const done = asked.ask({ kind: "preview" });
  expect(asked.busy.value).toBe("");
  await vi.advanceTimersByTimeAsync(310);
  expect(asked.busy.value).toBe("soon");
  await vi.advanceTimersByTimeAsync(700);
  expect(asked.busy.value).toBe("waiting");
  sent[0]!.reply();
  await done;
  expect(asked.busy.value).toBe("");
});

it("goes by the oldest request that is still out", async () => {
  const asked = pending(send);
  void asked.ask({ kind: "preview" });
  await vi.advanceTimersByTimeAsync(900);
  const second = asked.ask({ kind: "frame" });
  sent[0]!.reply();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.busy.value).toBe("");
  sent[1]!.reply();
  await second;
});

it("one request of a kind at a time: of those asked meanwhile only the last is sent", async () => {
  const asked = pending(send);
  const replies = [1, 2, 3].map((cursor) => asked.latest({ kind: "jump", cursor }));
  void asked.latest({ kind: "preview" });
  expect(sent.map((s) => [s.request.kind, s.request.cursor])).toEqual([["jump", 1], ["preview", undefined]]);
  sent[0]!.reply();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent[2]!.request.cursor).toBe(3);
  sent[2]!.reply();
  expect((await Promise.all(replies)).map((r) => r && r.data)).toEqual([1, null, 3]);
});
