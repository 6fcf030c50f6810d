// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { history, step } from "../testing/fixture";
import type { Request } from "../payload";
import { card, refuse, testHost } from "../testing/host";
import { openLab, type Opened } from "../testing/lab";

// Node imports no blob: the text becomes a data address instead.
const SOURCE = `export const open = (box, store, css) => { box.textContent = css + " " + store.uid; return () => globalThis.tuned = "over" }`;
URL.createObjectURL = () => `data:text/javascript,${SOURCE}`;

let lab: Opened | undefined;
afterEach(() => {
  lab?.close();
});

const drawn = (of: Opened) => vi.waitFor(() => expect(of.one("[role=dialog]").textContent).toContain("p {} tvl"));
const MODULE = { js: SOURCE, css: "p {}" };

it("the module is asked for when it is first opened, and only then", async () => {
  lab = await openLab({ module: () => MODULE });
  expect(lab.asked("module")).toEqual([]);
  lab.one("[role=treeitem][tabindex='0']").focus();
  await lab.press("T");
  expect(lab.asked("module")).toMatchObject([{ what: "tune" }]);
  await drawn(lab);
  await lab.press("Escape");
  expect((globalThis as { tuned?: string }).tuned).toBe("over");
  await lab.press("T");
  expect(lab.asked("module")).toHaveLength(1);
  await drawn(lab);
});

it("a module that is not there is a card, and is asked for again the next time", async () => {
  let built = false;
  lab = await openLab({ module: () => (built ? MODULE : { refused: card("it is not built") }) });
  lab.one("[role=treeitem][tabindex='0']").focus();
  await lab.press("T");
  expect(lab.one("[role=dialog] .tvl-card").textContent).toContain("it is not built");
  await lab.press("Escape"); // the card, then the drawer
  await lab.press("Escape");
  built = true;
  await lab.press("T");
  await drawn(lab);
});

it("a saved lab has no kernel that could tune: it is not offered", async () => {
  lab = await openLab({}, testHost({}, {}, false));
  await lab.click(lab.one("[id$=-more]"));
  const items = lab.all("[role=menuitem]").map((item) => item.textContent);
  expect(items).toContain("Runs");
  expect(items.join()).not.toContain("Tune");
  lab.one("[role=treeitem][tabindex='0']").focus();
  await lab.press("T");
  expect(lab.all("[role=dialog]")).toEqual([]);
});

it("the values of a step are made tunable where they are edited", async () => {
  const params = ["x", "y"].map((name) => ({ name, label: name, kind: "factor" as const, value: 8, choices: [] }));
  const host = testHost({ history: history({ steps: [step({ id: "e9", label: "tile", params })], cursor: 1 }) }, { module: () => MODULE });
  lab = await openLab({}, host);
  await lab.click(lab.all("[data-pane=history] button").find((b) => b.textContent === "Edit step")!);
  await lab.click(lab.all("form.tvl-stepbar button").find((b) => b.textContent === "Make tunable")!);
  expect(lab.asked("tune")).toMatchObject(["x", "y"].map((param) => ({ what: "open", values: { step: "e9", param } })));
  expect(lab.asked("tune")).toHaveLength(2);
  expect(lab.one("[role=dialog] h2").textContent).toBe("Tune");
});

it("a step without such values is made tunable as a whole, and a refusal is said in the drawer", async () => {
  const params = [{ name: "axis", label: "axis", kind: "choice" as const, value: "i", choices: [] }];
  const answers = { module: () => MODULE, tune: ({ values }: Request) => values?.param === "axis" && refuse("there is no other loop") };
  const host = testHost({ history: history({ steps: [step({ id: "e9", label: "unroll i", params })], cursor: 1 }) }, answers);
  lab = await openLab({}, host);
  await lab.click(lab.all("[data-pane=history] button").find((b) => b.textContent === "Edit step")!);
  await lab.click(lab.all("form.tvl-stepbar button").find((b) => b.textContent === "Make tunable")!);
  expect(lab.asked("tune").map((request) => request.values?.param)).toEqual(["axis", ""]);
  expect(lab.all("[role=dialog] .tvl-card")).toEqual([]);
  lab.close();
  lab = await openLab({}, testHost({ history: history({ cursor: 7 }) }, { module: () => MODULE, tune: () => refuse("a run is on its way") }));
  await lab.click(lab.all("[data-pane=history] button").find((b) => b.textContent === "Edit step")!);
  await lab.click(lab.all("form.tvl-stepbar button").find((b) => b.textContent === "Make tunable")!);
  expect(lab.one("[role=dialog] .tvl-card").textContent).toContain("a run is on its way");
});
