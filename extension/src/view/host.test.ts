import { expect, it, vi } from "vitest";
import { documentHost, filled, GONE, widgetHost } from "./host";
import type { Reply } from "./payload";

/** anywidget's model, and a JupyterLab kernel behind its manager. */
function fake(send: (request: { seq: number }) => void = () => {}) {
  const heard = new Map<string, Set<(...args: unknown[]) => void>>();
  const statuses = new Set<(kernel: unknown, status: string) => void>();
  const model = {
    get: () => null,
    on: (name: string, f: (...args: unknown[]) => void) => heard.set(name, (heard.get(name) ?? new Set()).add(f)),
    off: (name: string, f: (...args: unknown[]) => void) => heard.get(name)?.delete(f),
    send: vi.fn(send),
    widget_manager: { kernel: { statusChanged: { connect: (f: never) => statuses.add(f), disconnect: (f: never) => statuses.delete(f) } } },
  };
  const fire = (name: string, ...args: unknown[]) => [...(heard.get(name) ?? [])].forEach((f) => f(...args));
  const host = widgetHost(model as never);
  return { host, model, fire, heard, statuses, status: (s: string) => [...statuses].forEach((f) => f(null, s)) };
}

const reply = (re: number): Reply => ({ re, ok: true, data: re, card: null });

it("gives each request its own reply, in whatever order, and none of another view's", async () => {
  const seqs: number[] = [];
  const { host, fire } = fake(({ seq }) => seqs.push(seq));
  const [a, b] = [host.ask({ kind: "drawer" }), host.ask({ kind: "passes" })];
  fire("msg:custom", reply(12));
  fire("msg:custom", { nothing: "of ours" });
  fire("msg:custom", reply(seqs[1]!));
  fire("msg:custom", reply(seqs[0]!));
  expect([(await a).re, (await b).re]).toEqual(seqs);
  expect(seqs[0]).not.toBe(seqs[1]);
});

it("a kernel that restarts or dies ends what was asked, and says so", async () => {
  for (const status of ["restarting", "autorestarting", "dead"]) {
    const { host, status: say } = fake();
    const lost: boolean[] = [];
    host.onLost!((l) => lost.push(l));
    const asked = host.ask({ kind: "run" });
    say("busy");
    expect(lost).toEqual([]);
    say(status);
    expect(await asked).toBe(GONE);
    expect(lost).toEqual([true]);
  }
});

it("when the line was cut, whoever answers makes it whole again", async () => {
  const seqs: number[] = [];
  const { host, fire } = fake(({ seq }) => seqs.push(seq));
  const lost: boolean[] = [];
  host.onLost!((l) => lost.push(l));
  fire("comm_live_update");
  expect(lost).toEqual([true]);
  fire("msg:custom", reply(seqs[0]!));
  await Promise.resolve();
  expect(lost).toEqual([true, false]);
});

it("a send that fails is a lost kernel, not an exception", async () => {
  const { host } = fake(() => {
    throw new Error("Cannot send");
  });
  const lost: boolean[] = [];
  host.onLost!((l) => lost.push(l));
  expect(await host.ask({ kind: "undo" })).toBe(GONE);
  expect(lost).toEqual([true]);
});

it("leaves nothing behind", async () => {
  const { host, heard, statuses } = fake();
  const stop = host.onLost!(() => {});
  host.on("head", () => {})();
  const asked = host.ask({ kind: "drawer" });
  stop();
  host.dispose();
  expect(await asked).toBe(GONE);
  expect([...heard.values()].map((s) => s.size)).toEqual([0, 0, 0]);
  expect(statuses.size).toBe(0);
});

it("what a saved state lacks, or has in another form, is empty", () => {
  const saved = { head: { targets: "none", title: 7, name: "kept" }, history: {}, frame: { tree: null }, selection: 1 } as never;
  const state = filled(saved);
  expect([state.head.targets, state.head.machines, state.head.title, state.head.name]).toEqual([[], [], "", "kept"]);
  expect([state.head.badge.items, state.history.steps, state.frame.tree, state.frame.metrics.levels]).toEqual([[], [], [], []]);
  expect([state.selection, state.story.frames, state.runs.rows, state.message.text]).toEqual([[], [], [], ""]);
  expect(saved).toEqual({ head: { targets: "none", title: 7, name: "kept" }, history: {}, frame: { tree: null }, selection: 1 });
  expect(documentHost({ state: saved } as never).get("head").targets).toEqual([]);
});
