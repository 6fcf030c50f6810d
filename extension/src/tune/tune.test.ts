// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { card } from "../view/testing/host";
import { fakeHost, type FakeHost } from "../view/testing/kernel";
import { makeStore, type Store } from "../view/store";
import { seen } from "./landscape";
import { open } from "./open";
import { fakeTuner, KNOBS, PREVIEW, tuneState, WHOLE, type FakeTuner } from "./testing/kernel";

let kernel: FakeTuner;
let host: FakeHost;
let store: Store;
let box: HTMLElement;
let stops: (() => void)[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  globalThis.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
});

afterEach(() => {
  stops.forEach((stop) => stop());
  localStorage.clear();
  vi.useRealTimers();
});

/** The drawer's module on a kernel that tunes in play. */
async function tune(of: FakeTuner = fakeTuner()): Promise<void> {
  kernel = of;
  host = fakeHost({ tune: (request) => kernel.answer(request) });
  const made = makeStore(host);
  store = made.store;
  box = document.createElement("div");
  document.body.append(box);
  const close = open(box, store, ".tvn {}");
  stops = [close, made.stop, () => box.remove()];
  await pass(50);
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const all = (selector: string) => [...box.querySelectorAll<HTMLElement>(selector)];
const states = () => kernel.asked.filter((a) => a.what === "state");
const last = (what: string) => kernel.asked.filter((a) => a.what === what).at(-1)?.values;

function button(name: string | RegExp): HTMLElement {
  const found = all("button").find((b) => (typeof name === "string" ? b.textContent!.trim() === name : name.test(b.textContent!)));
  if (!found) throw new Error(`no button ${name} among ${all("button").map((b) => b.textContent)}`);
  return found;
}

async function click(element: Element): Promise<void> {
  element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await pass(50);
}

async function key(element: Element, name: string, more: KeyboardEventInit = {}): Promise<void> {
  element.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
  await pass(50);
}

it("asks for the state four times a second while trials are measured, and seldom when none are", async () => {
  await tune();
  await pass(10_000);
  expect(states().length).toBeLessThan(8);
  await click(button("Start"));
  const before = states().length;
  await pass(2000);
  expect(states().length - before).toBeGreaterThan(6);
  expect(states().length - before).toBeLessThan(10);
});

it("gets each trial once, and begins anew when another run has begun", async () => {
  await tune();
  await click(button("Start"));
  kernel.measure(5);
  await pass(600);
  expect(all("[data-trial]")).toHaveLength(kernel.trials.filter((t) => t.seconds).length);
  kernel.measure(3);
  await pass(600);
  expect(states().some((a) => a.values?.since === 5)).toBe(true);
  expect(last("state")).toEqual({ n: kernel.state.n, since: 8 });
  await click(button("Stop"));
  await click(button("Clear"));
  expect(all("[data-trial]")).toHaveLength(0);
});

it("after a reload everything is there again", async () => {
  const measured = fakeTuner({ state: "paused", adopted: "x", source: "generic", search: "random" });
  measured.measure(40);
  await tune(measured);
  expect(all(".tvn-board tbody tr").length).toBeGreaterThan(10);
  expect(button("Resume")).toBeTruthy();
  expect(box.querySelector("select")!.value).toBe("random");
  expect(box.querySelector<HTMLInputElement>("[name$=tune-source]:checked")!.parentElement!.textContent).toBe("the whole expression");
  expect(box.querySelector(".tvn-trial")!.getAttribute("d")!.match(/h0/g)!.length).toBe(measured.trials.filter((t) => t.seconds).length);
});

it("asks nothing while the page is hidden, and at once when it is seen again", async () => {
  await tune(fakeTuner({ state: "running" }));
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  await pass(500);
  const before = states().length;
  await pass(5000);
  expect(states()).toHaveLength(before);
  hidden.mockReturnValue(false);
  document.dispatchEvent(new Event("visibilitychange"));
  await pass(1);
  expect(states()).toHaveLength(before + 1);
  hidden.mockRestore();
});

it("closed, it asks no more", async () => {
  await tune(fakeTuner({ state: "running" }));
  kernel.measure(9);
  await pass(500);
  await click(button("Look"));
  expect(store.preview.value).toEqual(PREVIEW);
  stops.shift()!();
  expect(store.preview.value).toBeNull();
  const before = states().length;
  await pass(5000);
  expect(states()).toHaveLength(before);
  expect(box.children).toHaveLength(0);
});

it("says pausing at once, before the kernel has answered", async () => {
  let answer = () => {};
  await tune(fakeTuner({ state: "running" }));
  const { ask } = store;
  store.ask = (request) => (request.what === "pause" ? new Promise((resolve) => (answer = () => resolve(ask(request)))) : ask(request));
  await click(button("Pause"));
  expect(box.querySelector(".tvn-doing")!.textContent).toContain("pausing …");
  expect(button("Pause").getAttribute("aria-disabled")).toBe("true");
  answer();
  await pass(50);
  expect(button("Resume")).toBeTruthy();
});

it("a refusal is a card where it was asked for", async () => {
  await tune();
  kernel.refuse("start", { ...card("There is no compiler."), title: "Tuning cannot start" });
  await click(button("Start"));
  expect(box.querySelector(".tvl-card")!.textContent).toContain("There is no compiler.");
  await click(button("Start"));
  expect(box.querySelector(".tvl-card")).toBeNull();
  kernel.refuse("allow", card("a run is on its way"));
  await click(all(".tvn-chip")[2]!);
  expect(box.querySelector(".tvn-left .tvl-card")!.textContent).toContain("a run is on its way");
  expect(all(".tvn-chip")[2]!.getAttribute("aria-pressed")).toBe("true");
});

it("a value is taken out and in by its chip; the last one stays", async () => {
  await tune(fakeTuner({ knobs: [{ ...tuneState().knobs[3]! }] }));
  await click(button("no"));
  expect(last("allow")).toEqual({ knob: "e5.u", on: [1] });
  await click(button("yes"));
  expect(last("allow")).toEqual({ knob: "e5.u", on: [1] });
  await click(button("all"));
  expect(last("allow")).toEqual({ knob: "e5.u", on: [0, 1] });
});

it("dragging along an axis, and Shift with arrows, leave only these values", async () => {
  await tune(fakeTuner({ state: "paused" }));
  kernel.measure(30);
  await pass(3000);
  await click(button("Parallel"));
  const [axis] = all("[role=listbox]");
  const drag = (kind: string, y: number) => axis!.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientY: y }));
  const [, low] = all("[role=option] circle").map((c) => Number(c.getAttribute("cy")));
  const high = Number(all("[role=option] circle")[4]!.getAttribute("cy"));
  drag("pointerdown", low! + 3);
  await pass(20);
  drag("pointermove", high - 3);
  await pass(20);
  drag("pointerup", high - 3);
  await pass(50);
  expect(last("allow")).toEqual({ knob: "e1.x", on: [1, 2, 3, 4] });
  await key(axis!, "ArrowUp");
  await key(axis!, "ArrowUp", { shiftKey: true });
  expect(last("allow")).toEqual({ knob: "e1.x", on: [1, 2] });
  await key(axis!, " ");
  expect(last("allow")).toEqual({ knob: "e1.x", on: [1] });
  await key(axis!, "a");
  expect(last("allow")).toEqual({ knob: "e1.x", on: [0, 1, 2, 3, 4, 5, 6, 7] });
  expect(all("[role=option]")[0]!.getAttribute("aria-selected")).toBe("true");
});

it("looking at a trial shows its schedule in the lab, until one is back or adopts it", async () => {
  await tune(fakeTuner({ state: "paused" }));
  kernel.measure(20);
  await pass(3000);
  await click(button("Look"));
  const best = [...kernel.trials].filter((t) => t.seconds).sort((a, b) => a.seconds! - b.seconds!)[0]!;
  expect(last("trial")).toEqual({ index: best.index });
  expect(store.preview.value).toEqual(PREVIEW);
  expect(box.querySelector("[data-looking]")).toBeTruthy();
  store.preview.value = null; // an action was pointed at, and left
  await pass(3000);
  expect(store.preview.value).toEqual(PREVIEW);
  await click(button("Back to tuning"));
  expect([store.preview.value, box.querySelector("[data-looking]")]).toEqual([null, null]);
  await key(all("[data-trial]")[0]!, "Enter");
  await click(button("Adopt"));
  expect(last("adopt")).toEqual({ index: best.index });
  expect([store.preview.value, box.querySelector("[data-looking]")]).toEqual([null, null]);
  expect(box.querySelector(".tvl-tone-accent")!.textContent).toBe("the steps now");
});

it("Esc goes back from a trial, and then is the drawer's again", async () => {
  await tune(fakeTuner({ state: "paused" }));
  kernel.measure(20);
  await pass(3000);
  const closed = vi.fn();
  store.keys.onEscape(closed);
  const escape = () => store.keys.handle(new KeyboardEvent("keydown", { key: "Escape" }), box);
  await click(button("Look"));
  await click(button("Look"));
  escape();
  await pass(50);
  expect([closed.mock.calls.length, box.querySelector("[data-looking]")]).toEqual([0, null]);
  escape();
  expect(closed).toHaveBeenCalledTimes(1);
});

it("a trial whose schedule cannot be shown says why", async () => {
  await tune(fakeTuner({ state: "paused" }));
  kernel.measure(20);
  await pass(3000);
  const { ask } = store;
  const preview = { ...PREVIEW, sign: "x", card: card("the factor is too large") };
  store.ask = async (request) => (request.what === "trial" ? { re: 1, ok: true, data: preview, card: null } : ask(request));
  await click(button("Look"));
  expect(box.querySelector(".tvn-right .tvl-card")!.textContent).toContain("the factor is too large");
  expect([store.preview.value, box.querySelector("[data-looking]")]).toEqual([null, null]);
});

it("an act elsewhere in the lab is seen at once", async () => {
  await tune();
  const before = states().length;
  host.set("history", { ...host.get("history"), cursor: 1 });
  await pass(20);
  expect(states()).toHaveLength(before + 1);
});

it("arrows go from trial to trial in the plot, and Enter looks", async () => {
  await tune(fakeTuner({ state: "paused" }));
  kernel.measure(20);
  await pass(3000);
  const plot = box.querySelector(".tvn-plot")!;
  await key(plot, "Home");
  expect(box.querySelector(".tvn-tip")!.textContent).toContain("Trial 1: ");
  await key(plot, "ArrowRight");
  expect(box.querySelector(".tvn-tip")!.getAttribute("aria-live")).toBe("polite");
  await key(plot, "Enter");
  expect(last("trial")).toEqual({ index: kernel.trials[1]!.index });
});

it("a kernel that cannot tune says so in its place", async () => {
  const older = fakeTuner();
  older.refuse("state", card("this tvmlab is older than the page"));
  await tune(older);
  expect(box.querySelector(".tvl-card")!.textContent).toContain("this tvmlab is older");
});

it("a lost kernel is said, and everything stays", async () => {
  await tune(fakeTuner({ state: "paused" }));
  kernel.measure(20);
  await pass(3000);
  store.ask = () => Promise.resolve({ re: -1, ok: false, data: null, card: null });
  await pass(3000);
  expect(box.textContent).toContain("The kernel does not answer.");
  expect(all("[data-trial]").length).toBeGreaterThan(5);
});

it("of a landscape with many values those are drawn that something was measured with", () => {
  const row = (at: number) => Array.from({ length: 20 }, (_, i) => (i === at ? 1 : null));
  expect(seen([row(3), row(-1), row(7)])).toEqual([[3, 7], [0, 1, 2]]);
  expect(seen([[null, null], [null, 1]])).toEqual([[0, 1], [0, 1]]);
});

it("each plot has its numbers as a table", async () => {
  await tune(fakeTuner({ state: "paused" }));
  kernel.measure(60);
  await pass(3000);
  for (const tab of ["Progress", "Landscape", "Parallel", "Model"]) {
    await click(button(tab));
    await pass(1200);
    const twin = box.querySelector("details")!;
    twin.open = true;
    twin.dispatchEvent(new Event("toggle"));
    await pass(50);
    expect(twin.querySelectorAll("tbody tr").length, tab).toBeGreaterThan(5);
  }
});

it("where it measures is a field; the workers are listed, with why one is left out", async () => {
  await tune(fakeTuner());
  const field = all("input").find((i) => i.id.endsWith("tune-fleet")) as HTMLInputElement;
  expect(field.placeholder).toBe("this machine");
  field.value = " tcp://10.0.0.1:8786 ";
  field.dispatchEvent(new Event("change", { bubbles: true }));
  await pass(50);
  expect(last("settings")).toEqual({ fleet: "tcp://10.0.0.1:8786" });
  kernel.state = {
    ...kernel.state, n: 9, state: "connecting",
    workers: [
      { name: "one", state: "takes part", trials: 1, note: "" },
      { name: "two", state: "gone", trials: 2, note: "it is gone" },
      { name: "odd", state: "out", trials: 0, note: "it has tvmlab 0.0.1" },
    ],
  }; // prettier-ignore
  await pass(2500);
  expect(all("[data-worker]").map((e) => e.textContent!.trim())).toEqual(["one 1 trial", "two 2 trials it is gone", "odd  left out: it has tvmlab 0.0.1"]);
  expect(box.textContent).toContain("1 of 3 take part");
  expect(box.textContent).toContain("connecting …");
  expect((all("input").find((i) => i.id.endsWith("tune-fleet")) as HTMLInputElement).disabled).toBe(true);
  expect(button("Stop") && button("Pause")).toBeTruthy();
});

it("the last value of a knob stays, and that is said where one tries", async () => {
  await tune(fakeTuner({ knobs: [{ ...KNOBS[3]!, on: [1] }, KNOBS[0]!] }));
  await click(button("yes"));
  expect([last("allow"), box.querySelector(".tvn-knob")!.textContent]).toEqual([undefined, expect.stringContaining("one value stays")]);
  expect(store.said.value).toContain("unroll: one value stays");
  await click(button("no"));
  expect([last("allow"), box.textContent!.includes("one value stays")]).toEqual([{ knob: "e5.u", on: [0, 1] }, false]);
  await click(button("yes"));
  await click(button("Parallel"));
  store.said.value = "";
  await key(all("[role=listbox]")[0]!, " ");
  expect(store.said.value).toContain("unroll: one value stays");
});

it("in the space of a whole expression each value has a name, and each name a meaning", async () => {
  await tune(fakeTuner({ state: "paused", knobs: WHOLE }));
  kernel.measure(20);
  await pass(3000);
  const rows = all(".tvn-values").map((e) => [...e.children].map((c) => c.textContent!.replace(/ .*/, "")));
  expect(rows[0]).toEqual(["i", "j", "k", "order", "cache", "parallel", "swap", "unroll", "vectorize"]);
  expect(rows.slice(1).every((row) => row.length < 9)).toBe(true);
  expect(all(".tvn-help").map((e) => e.textContent)).toContain("what order means");
});

it("trials that were timed again are marked at the time that counts, where the line ends", async () => {
  await tune(fakeTuner({ state: "paused" }));
  kernel.measure(30);
  await pass(3000);
  expect(box.querySelector("svg .tvn-retimed")).toBeNull();
  kernel.finish();
  await pass(3000);
  const d = (selector: string) => box.querySelector(`.tvn-plot ${selector}`)!.getAttribute("d")!;
  const best = Math.max(...d(".tvn-retimed").split("M").slice(1).map((m) => Number(m.split(/[ l]/)[1]) + 6)); // the lowest
  expect(Number(d(".tvn-best").match(/V([\d.]+)H[\d.]+$/)![1])).toBeCloseTo(best, 0);
  expect(box.querySelector(".tvn-legend")!.textContent).toContain("timed again at the end: this time counts");
});
