// @vitest-environment jsdom
// The whole lab in jsdom: what is drawn with and without a kernel, the keys of the lab, drawers, and the history.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DRAWER, history, row, frame, runs, run, step, TYPED_WRONG, head } from "./testing/fixture";
import { refuse, testHost, type Answer, type TestHost } from "./testing/host";
import { openLab, type Opened } from "./testing/lab";
import type { State } from "./payload";

let lab: Opened, host: TestHost;

async function open(over: Partial<State> = {}, answers: Record<string, Answer> = {}, live = true): Promise<void> {
  host = testHost(over, { picture: () => [], source: () => [], ...answers }, live);
  lab = await openLab({}, host);
}

const button = (name: string | RegExp, of: ParentNode = lab.root): HTMLElement => {
  const named = (b: HTMLElement) => (typeof name === "string" ? b.textContent!.trim() === name : name.test(b.textContent!));
  const found = [...of.querySelectorAll<HTMLElement>("button")].find(named);
  if (!found) throw new Error(`no button is called ${name}`);
  return found;
};
const has = (name: string | RegExp) => {
  try {
    return !!button(name);
  } catch {
    return false;
  }
};
const said = () => lab.one(".tvl-messages p").textContent;
const asked = (kind: string) => lab.asked(kind).map(({ seq: _, kind: __, ...rest }) => rest);

beforeEach(() => localStorage.clear());
afterEach(() => lab.close());

it("shows the header, the steps and the last message", async () => {
  await open();
  expect(lab.one(".tvl-header").textContent).toMatch(/matmul.*CPU \(Numba\).*laptop-x86.*legal.*6.1 ms.*measured/);
  expect(lab.all(".tvl-film [role=option]").map((o) => o.getAttribute("aria-current"))).toEqual([null, null, null, null, null, "step", null]);
  expect(said()).toMatch(/^Step 6 applied/);
});

it("without a kernel no control that acts is drawn, and time travel works", async () => {
  await open({}, {}, false);
  for (const name of ["Undo", "Redo", "Pin", /^Run$/, /Cancel/, "Edit step", /^main/]) expect(has(name)).toBe(false);
  expect(has("Copy code")).toBe(true);
  await lab.click(button("Back"));
  expect(said()).toBe("Looking at step 5 of 7.");
  lab.one(".tvl-film").focus();
  await lab.press("{");
  expect(lab.one("[aria-current=step]").textContent).toContain("start");
  expect(lab.one("[data-pane=code]").textContent).toContain("for i in range(512):");
});

it("a saved copy says so, and claims no other step's time or code than the saved one's", async () => {
  const writeText = vi.fn(async () => {});
  vi.stubGlobal("navigator", { ...navigator, platform: "", clipboard: { writeText } });
  await open({}, {}, false);
  const time = () => lab.one(".tvl-time").textContent;
  const reason = () => button("Copy code").getAttribute("aria-disabled") && button("Copy code").title;
  expect(lab.one(".tvl-header").textContent).toContain("saved copy");
  expect([time(), reason()]).toEqual(["6.1 ms±2 % measured24.8× naive", null]);
  await lab.click(button("Back"));
  expect([time(), reason()]).toEqual(["6.1 ms measured", "saved for step 6 only"]);
  lab.one(".tvl-film").focus();
  await lab.press("y");
  expect(said()).toBe("Not copied: saved for step 6 only.");
  expect(writeText).not.toHaveBeenCalled();
  await lab.press("{");
  expect(time()).toBe("151 ms measured");
  await lab.press("]");
  await lab.press("]");
  expect(time()).toBe("not run");
  vi.unstubAllGlobals();
  lab.close();
  await open();
  expect(lab.one(".tvl-header").textContent).not.toContain("saved copy");
});

it("a lost kernel is said, and takes the controls that act away", async () => {
  await open();
  host.lose(true);
  await lab.rest();
  expect(lab.one(".tvl-banner-bad").textContent).toMatch(/Disconnected.*Re-run the cell/);
  expect(has("Undo")).toBe(false);
  host.lose(false);
  await lab.rest();
  expect(has("Undo")).toBe(true);
});

it("keys of the lab: steps, undo, redo, run, pin", async () => {
  await open({ runs: runs({ rows: [] }) });
  lab.one(".tvl-film").focus();
  await lab.press("z", { ctrlKey: true });
  await lab.press("Z", { metaKey: true, shiftKey: true });
  await lab.press("Enter", { ctrlKey: true });
  await lab.press("x");
  await lab.press("[");
  expect(host.asked.map((r) => r.kind).filter((k) => !["picture", "source", "select"].includes(k))).toEqual(["undo", "redo", "run", "pin", "jump"]);
  expect(asked("jump")).toEqual([{ cursor: 5 }]);
});

it("Esc while something runs cancels it; what is open over it closes first", async () => {
  await open();
  lab.one(".tvl-film").focus();
  await lab.press("?");
  await lab.press("Escape");
  expect(asked("cancel")).toEqual([]);
  await lab.press("Escape");
  expect(asked("cancel")).toEqual([{ what: "" }]);
});

it("? lists the keys, Esc closes the list and gives the focus back", async () => {
  await open();
  lab.one(".tvl-film").focus();
  await lab.press("?");
  const list = lab.one("[role=dialog]").textContent!;
  for (const key of ["Ctrl+Z", "undo", "pin for comparing", "Alt+Left", "leave the lab"]) expect(list).toContain(key);
  await lab.press("Escape");
  expect(lab.root.querySelector("[role=dialog]")).toBe(null);
  expect(document.activeElement).toBe(lab.one(".tvl-film"));
});

it("single letters can be turned off, and stay off", async () => {
  await open();
  lab.one(".tvl-film").focus();
  await lab.press("?");
  await lab.click(button("Turn single letters off"));
  await lab.press("x");
  expect(asked("pin")).toEqual([]);
  lab.close();
  await open();
  lab.one(".tvl-film").focus();
  await lab.press("x");
  expect(asked("pin")).toEqual([]);
});

it("copies by the clipboard, or by a selection where there is none", async () => {
  const writeText = vi.fn(async () => {});
  vi.stubGlobal("navigator", { ...navigator, platform: "", clipboard: { writeText } });
  await open();
  await lab.click(button("Copy code"));
  expect(writeText).toHaveBeenCalledWith(host.get("head").calls);
  expect(said()).toBe("Copied the steps as code.");
  vi.stubGlobal("navigator", { platform: "" });
  const copied: string[] = [];
  document.execCommand = () => (copied.push((document.activeElement as HTMLTextAreaElement).value), true);
  await lab.click(button("Copy code"));
  expect(copied).toEqual([host.get("head").calls]);
  document.execCommand = () => false;
  await lab.click(button("Copy code"));
  expect(said()).toMatch(/does not let this page copy/);
  expect(lab.one("[role=dialog]").textContent).toContain("s[C].vectorize(ji)");
  vi.unstubAllGlobals();
});

it("targets that are not here are listed with the reason, and cannot be picked", async () => {
  await open();
  await lab.click(button(/^Target/));
  const items = lab.all("[data-item]");
  expect(items.map((i) => i.getAttribute("aria-checked"))).toEqual(["true", "false", "false"]);
  expect(items[2]!.textContent).toContain("no CUDA device found");
  await lab.click(items[2]!);
  expect(asked("target")).toEqual([]);
  await lab.press("ArrowDown");
  expect(document.activeElement).toBe(items[1]);
  await lab.click(items[1]!);
  expect(asked("target")).toEqual([{ what: "llvm" }]);
});

it("starts an operator with other sizes", async () => {
  await open({}, { drawer: () => DRAWER });
  await lab.click(lab.one(".tvl-title"));
  await lab.type(lab.one<HTMLInputElement>(".tvl-fields input"), "64");
  await lab.click(button("Start"));
  expect(asked("start")).toEqual([{ what: "matmul", values: { n: 64, m: 512, k: 512, dtype: "float32" } }]);
  expect(lab.root.querySelector("[role=dialog]")).toBe(null);
});

it("a start that is refused says why in the drawer, and nothing is lost", async () => {
  await open({}, { drawer: () => DRAWER, start: () => refuse("rows n must be at least 1") });
  await lab.click(lab.one(".tvl-title"));
  await lab.type(lab.one<HTMLInputElement>(".tvl-fields input"), "0");
  await lab.click(button("Start"));
  expect(lab.one(".tvl-drawer .tvl-card").textContent).toContain("rows n must be at least 1");
  expect(lab.one<HTMLInputElement>(".tvl-fields input").value).toBe("0");
});

it("a typed expression is read while it is typed; the part that is wrong is underlined", async () => {
  const text = "A = te.placeholder((4,))\nB = A + 1";
  await open({}, { drawer: () => DRAWER, typed: (r) => (r.text === text ? { ...TYPED_WRONG, start: 4, end: 9 } : { ok: true, tensors: ["A: float32[4]"], error: "", line: 0, start: 0, end: 0 }) });
  await lab.click(lab.one(".tvl-title"));
  await lab.click(lab.all("[role=tab]").find((t) => t.textContent === "Type an expression")!);
  const area = lab.one<HTMLInputElement>(".tvl-editor textarea");
  await lab.type(area, text);
  await lab.rest(400);
  expect(lab.one(".tvl-editor mark").textContent).toBe("A + 1");
  expect(lab.one(".tvl-reads").textContent).toContain("line 2: There is no tensor B here");
  await lab.click(button("Start"));
  expect(asked("start")).toEqual([]);
  await lab.type(area, "A = te.placeholder((4,))");
  await lab.rest(400);
  expect(lab.one(".tvl-reads").textContent).toContain("A: float32[4]");
  await lab.click(button("Start"));
  expect(asked("start")).toEqual([{ what: "expression", text: "A = te.placeholder((4,))" }]);
});

it("an earlier step is edited in its place", async () => {
  await open({ history: history({ cursor: 2 }) });
  lab.one(".tvl-film").focus();
  await lab.press("Enter");
  const field = lab.one<HTMLInputElement>(".tvl-stepbar .tvl-stepper input");
  expect(document.activeElement).toBe(field);
  await lab.type(field, "32");
  await lab.click(button("Change and replay the rest"));
  expect(asked("edit")).toEqual([{ step: "e2", values: { factor: 32 } }]);
  await lab.click(button("Later"));
  expect(asked("move")).toEqual([{ step: "e2", to: 2 }]);
  expect(asked("jump")).toEqual([{ cursor: 3 }]);
});

it("once a step was changed, moved or deleted the film strip has the focus: Ctrl+Z is the lab's", async () => {
  await open({ history: history({ cursor: 2 }) });
  const film = lab.one(".tvl-film");
  const field = () => lab.one<HTMLInputElement>(".tvl-stepbar .tvl-stepper input");
  film.focus();
  await lab.press("Enter");
  await lab.type(field(), "32");
  const { steps } = host.get("history");
  const changed = { ...steps[1]!, params: [{ ...steps[1]!.params[0]!, value: 32 }] };
  host.set("history", history({ cursor: 2, steps: [steps[0]!, changed, ...steps.slice(2)] }));
  lab.one<HTMLFormElement>("form.tvl-stepbar").requestSubmit();
  await lab.rest();
  expect(document.activeElement).toBe(film);
  expect(field().value).toBe("32");
  await lab.press("z", { ctrlKey: true });
  expect(asked("undo")).toEqual([{}]);
  host.set("history", history({ cursor: 2 }));
  await lab.rest();
  expect(field().value).toBe("4");
  await lab.press("Enter");
  expect(document.activeElement).toBe(field());
  for (const name of ["Earlier", "Later", "Delete"]) {
    field().focus();
    await lab.click(button(name));
    expect(document.activeElement, name).toBe(film);
  }
  host.set("history", history({ cursor: 1 }));
  await lab.rest();
  expect(document.activeElement).toBe(film);
  const name = lab.one<HTMLInputElement>(".tvl-stepbar input[placeholder]");
  name.focus();
  name.value = "odd";
  await lab.press("Enter");
  expect(document.activeElement).toBe(film);
});

it("names, notes, branches, deletes and tries again", async () => {
  await open({ history: history({ cursor: 7 }) });
  await lab.click(button("Edit step"));
  expect(lab.one(".tvl-stepbar").textContent).toContain("Parked: There is no loop");
  const [name] = lab.all(".tvl-stepbar input[type=text]") as HTMLInputElement[];
  name!.value = "odd";
  name!.dispatchEvent(new Event("change", { bubbles: true }));
  await lab.click(button("Try again"));
  await lab.click(button("Branch here"));
  await lab.click(button("Delete"));
  expect([asked("rename"), asked("retry"), asked("branch"), asked("delete")]).toEqual([[{ step: "e7", text: "odd" }], [{ step: "e7" }], [{ step: "e7" }], [{ step: "e7" }]]);
});

it("branches: another one, a new one", async () => {
  await open();
  const menu = () => lab.all(".tvl-pane-history .tvl-menu button")[0]!;
  await lab.click(menu());
  await lab.click(button(/^branch 1/));
  await lab.click(menu());
  await lab.click(button("New branch from here"));
  expect([asked("switch"), asked("branch")]).toEqual([[{ what: "b1" }], [{}]]);
});

it("runs: what is wrong is told by its element and the iterations that wrote it", async () => {
  await open();
  await lab.click(lab.one(".tvl-time"));
  const text = lab.one("[role=dialog]").textContent!;
  expect(text).toMatch(/C\[16, 31\] is 118.25; 129.5 was expected.*8,192 elements differ.*io=1 ii=0 jo=0 ji=31 ko=0 ki=0/);
  expect(text).toMatch(/longer than 10 s.*Raise the limit/);
  expect(text).toContain("cannot be removed: step 3 needs it");
  await lab.click(button("Cancel", lab.one("[role=dialog]")));
  await lab.click(button("Unpin"));
  expect([asked("cancel"), asked("pin")]).toEqual([[{ what: "r4" }], [{ what: "r3" }]]);
});

it("runs: what a simulator has run is right, and not timed", async () => {
  await open({ runs: runs({ rows: [run({ id: "r1", seconds: null, times: [], baseline: null, untimed: "simulator" })] }) });
  await lab.click(lab.one(".tvl-time"));
  expect(lab.one(".tvl-runs tbody").textContent).toMatch(/not timed.*✓ right/);
});

it("options are sent as numbers when they are left, and refused where they are", async () => {
  await open({}, { options: (r) => (r.values?.repeats === "many" ? refuse("repeats must be a number") : null) });
  await lab.click(lab.one(".tvl-time"));
  const field = (i: number) => lab.all(".tvl-options input")[i] as HTMLInputElement;
  const set = async (i: number, text: string) => {
    field(i).value = text;
    field(i).dispatchEvent(new Event("change", { bubbles: true }));
    await lab.rest();
  };
  await set(0, "2");
  await set(4, "1e-6");
  await set(1, "many");
  expect(asked("options").map((o) => o.values)).toEqual([{ threads: 2 }, { rtol: 1e-6 }, { repeats: "many" }]);
  expect(lab.one(".tvl-options .tvl-card").textContent).toContain("repeats must be a number");
});

it("compares two runs, and says so when the model does not explain it", async () => {
  await open();
  await lab.click(button("Compare", lab.one(".tvl-pane-history")));
  expect(lab.one(".tvl-verdict").textContent).toContain("5.1× faster");
  await lab.click(button("Swap"));
  await lab.click(button("Compare", lab.one("[role=dialog]")));
  expect(asked("compare")).toEqual([{ ids: ["r3", "r1"] }]);
  host.set("runs", runs({ comparison: { ...runs().comparison!, reasons: [], explained: false, model: "The model does not explain this difference." } }));
  await lab.rest();
  expect(lab.one("[role=dialog]").textContent).toContain("The model does not explain this difference.");
  expect(lab.all(".tvl-diff li").map((li) => li.className)).toEqual(["tvl-diff-changed", "tvl-diff-kept", "tvl-diff-removed", "tvl-diff-added"]);
});

it("a slow kernel is said in words, and the controls stay", async () => {
  await open({}, { undo: () => new Promise(() => {}) });
  await lab.click(button("Undo"));
  await lab.rest(1100);
  expect(lab.one(".tvl-messages").textContent).toContain("waiting: a cell is running");
  expect(has("Undo")).toBe(true);
});

it("a pane that fails says so in its place; the others live on", async () => {
  const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
  await open({ history: history({ steps: [step({ id: "e1", label: "ok", params: null as never })], cursor: 1 }) });
  await lab.click(button("Edit step"));
  expect(lab.one(".tvl-pane-history .tvl-failed").textContent).toContain("This part could not be drawn.");
  expect(lab.one(".tvl-header").textContent).toContain("matmul");
  quiet.mockRestore();
});

it("names are text, whatever they hold", async () => {
  const evil = `<img src=x onerror="window.hit=1">"'🚀`;
  await open({
    head: head({ title: evil, expression: [evil], badge: { sign: "x", text: evil, items: [evil, "constructor"] } }),
    history: history({ steps: [step({ id: "__proto__", label: evil, group: "constructor" }), step({ id: "constructor", label: evil, group: "constructor" })], cursor: 2 }),
    frame: frame({ tree: [row({ id: "constructor", kind: "stage", level: 0, name: "constructor" }), row({ id: "__proto__", name: evil })] }),
    runs: runs({ rows: [run({ id: "__proto__", title: evil })], ablation: [{ id: "__proto__", text: evil, ratio: null, low: null, high: null }] }),
    message: { n: 1, text: evil, kind: "bad", card: null },
  });
  for (const drawer of [".tvl-time", ".tvl-title"]) await lab.click(lab.one(drawer));
  expect(said()).toBe(evil);
  expect(lab.root.querySelector("img")).toBe(null);
  expect((window as { hit?: number }).hit).toBe(undefined);
});

it("the focus is not lost when what had it goes away", async () => {
  await open();
  await lab.click(button("Edit step"));
  lab.one(".tvl-stepbar input").focus();
  await lab.press("Escape");
  expect(document.activeElement).toBe(lab.one(".tvl-film"));
  lab.all("[data-pane=header] button")[0]!.focus();
  host.lose(true);
  await lab.rest();
  expect(lab.root.contains(document.activeElement)).toBe(true);
});

it("one tab stop in a bar; arrows go on inside, F6 goes round the panes", async () => {
  await open();
  const stops = () => lab.all("[data-pane=header] button").filter((b) => b.tabIndex === 0);
  expect(stops().length).toBe(1);
  stops()[0]!.focus();
  await lab.press("ArrowRight");
  expect(stops()[0]).toBe(document.activeElement);
  expect(document.activeElement!.textContent).toContain("Target");
  const panes: string[] = [];
  for (let i = 0; i < 5; i++) {
    await lab.press("F6");
    panes.push(document.activeElement!.closest<HTMLElement>("[data-pane]")!.dataset.pane!);
  }
  expect(panes).toEqual(["tree", "actions", "code", "pictures", "history"]);
});
