import { expect, it } from "vitest";
import { makeStore } from "./store";
import { frame, history } from "./testing/fixture";
import { refuse, testHost } from "./testing/host";

const open = (...of: Parameters<typeof testHost>) => {
  const host = testHost(...of);
  return { host, store: makeStore(host).store };
};
const turn = () => new Promise((resolve) => setTimeout(resolve));

it("without a kernel one travels in time by what was saved", async () => {
  const { host, store } = open({}, {}, false);
  expect(store.acting.value).toBe(false);
  expect(store.shown.value.key).toBe("f6");
  expect(await store.act({ kind: "jump", cursor: 0 })).toBe(true);
  expect(store.shown.value.loops[0]!.t).toBe("for i in range(512):");
  expect(store.shown.value.tree.map((r) => r.id)).toEqual(["A", "B", "C", "C.i", "C.j", "C.k"]);
  await store.jump(99);
  expect(store.at.value).toBe(7);
  await store.jump(-1);
  expect(store.at.value).toBe(0);
  expect(await store.act({ kind: "undo" })).toBe(false);
  expect(host.asked).toEqual([]);
});

it("a step is shown at once, before the kernel has answered", async () => {
  let answer = () => {};
  const { host, store } = open({}, { jump: () => new Promise<void>((resolve) => (answer = resolve)) });
  const done = store.jump(0);
  expect(store.at.value).toBe(0);
  expect(store.shown.value.loops[0]!.t).toBe("for i in range(512):");
  host.set("history", history({ cursor: 0 }));
  host.set("frame", frame({ key: "from the kernel" }));
  answer();
  expect(await done).toBe(true);
  expect(store.shown.value.key).toBe("from the kernel");
});

it("a jump that is refused leaves one where one was", async () => {
  const { store } = open({}, { jump: () => refuse("no") });
  expect(await store.jump(2)).toBe(false);
  expect(store.at.value).toBe(6);
});

it("quick steps: the last one is where one arrives", async () => {
  const { host, store } = open();
  await Promise.all([store.jump(5), store.jump(4), store.jump(3)]);
  expect(host.asked.map((r) => r.cursor)).toEqual([5, 3]);
});

it("a refusal is shown where it was asked for, and gone with the next act", async () => {
  const { store } = open({}, { edit: () => refuse("the factor must be positive") });
  expect(await store.act({ kind: "edit", step: "e1", values: { factor: 0 } }, "history")).toBe(false);
  expect(store.refused.value).toMatchObject({ where: "history", card: { text: "the factor must be positive" } });
  await store.act({ kind: "undo" });
  expect(store.refused.value).toBe(null);
});

it("when the kernel is lost the last state stays, nothing is asked, and time travel goes on", async () => {
  const { host, store } = open();
  host.lose(true);
  expect([store.acting.value, store.at.value, store.shown.value.loops.length]).toEqual([false, 6, 10]);
  expect(await store.act({ kind: "undo" })).toBe(false);
  expect((await store.ask({ kind: "drawer" })).ok).toBe(false);
  expect(host.asked).toEqual([]);
  await store.jump(0);
  expect(store.shown.value.key).toBe("f0");
  host.lose(false);
  expect([store.acting.value, store.at.value]).toEqual([true, 6]);
});

it("what this view said goes when the kernel says something", async () => {
  const { host, store } = open();
  store.said.value = "Copied.";
  host.set("message", { n: 7, text: "Step 7.", kind: "info", card: null });
  await turn();
  expect(store.said.value).toBe("");
});

it("a lab of nothing begins with the choice of an operator; a saved one does not", () => {
  const start = { ...testHost().get("head"), start: true };
  expect(open({ head: start }).store.drawer.value).toBe("workload");
  expect(open({ head: start }, {}, false).store.drawer.value).toBe("");
});

it("a story without one of its tables shows what there is", async () => {
  const { host } = open({}, {}, false);
  const { levels: _, ...rest } = host.get("story");
  const { store } = open({ story: { ...rest, rows: [] } as never }, {}, false);
  await store.jump(0);
  expect(store.shown.value.metrics.levels).toEqual([]);
  expect(store.shown.value.tree).toEqual([]);
  expect(store.shown.value.loops[0]!.t).toBe("for i in range(512):");
});
