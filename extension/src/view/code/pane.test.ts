// @vitest-environment jsdom
import { afterEach, expect, test } from "vitest";
import { documentHost } from "../host";
import { documentOf } from "../testing/kernel";
import { openLab, type Opened } from "../testing/lab";

let lab: Opened;
afterEach(() => lab.close());

const tab = (label: string) => lab.all("[data-pane=code] [role=tab]").find((t) => t.textContent === label)!;
const texts = () => lab.all(".tvl-line code").map((c) => c.textContent);

test("the loops, with the step that made each line", async () => {
  lab = await openLab();
  expect(texts()[0]).toBe("for i_outer in range(16):");
  expect(lab.one(".tvl-line-step[title]").title).toBe("made by step 1: tile i, j, cell 7 line 1");
});

test("a click on a line chooses its loop, and chosen loops are marked", async () => {
  lab = await openLab();
  await lab.click(lab.all(".tvl-line")[0]!);
  expect(lab.asked("select").at(-1)!.ids).toEqual(["C.i.outer"]);
  expect(lab.all(".tvl-line-selected code").map((c) => c.textContent)).toEqual(["for i_outer in range(16):"]);
});

test("only the seen part of a long text is in the page", async () => {
  lab = await openLab();
  await lab.click(tab("Python"));
  expect(lab.all(".tvl-line").length).toBeGreaterThan(10);
  expect(lab.all(".tvl-line").length).toBeLessThan(80);
  expect(lab.one(".tvl-line").getAttribute("aria-setsize")).toBe("2403");
});

test("the plain text is whole", async () => {
  lab = await openLab();
  await lab.click(tab("Python"));
  await lab.click(lab.all("[data-pane=code] button").find((b) => b.textContent === "Text")!);
  expect(lab.one("[data-pane=code] pre").textContent!.split("\n")).toHaveLength(2403);
});

test("folding by keys, and search with n", async () => {
  lab = await openLab();
  lab.one(".tvl-lines").focus();
  await lab.press("ArrowDown");
  await lab.press("ArrowLeft");
  expect(texts()).toHaveLength(1);
  await lab.press("ArrowRight");
  expect(texts()).toHaveLength(7);
  await lab.press("/");
  await lab.type(document.activeElement as HTMLInputElement, "inner");
  await lab.press("Enter");
  expect(lab.one("[data-pane=code] [role=status]").textContent).toBe("1 of 2");
  lab.one(".tvl-lines").focus();
  await lab.press("n");
  expect(lab.one("[data-pane=code] [role=status]").textContent).toBe("2 of 2");
});

test("d compares with the step before", async () => {
  lab = await openLab();
  lab.one(".tvl-lines").focus();
  await lab.press("d");
  expect(lab.asked("frame")[0]).toMatchObject({ cursor: 2, text: "diff" });
  expect(lab.all(".tvl-line-added")).toHaveLength(2);
  expect(lab.one("[data-pane=code] [aria-haspopup=menu]").textContent).toBe("Diff: with step 2");
});

test("texts of other steps are asked for, one after the other", async () => {
  lab = await openLab();
  await lab.click(tab("Python"));
  const before = lab.asked("source").length;
  await lab.press("[");
  lab.one(".tvl-lines").focus();
  await lab.press("[");
  expect(lab.asked("source").length).toBeGreaterThan(before);
});

test("without a kernel: steps are compared here, other texts are those of the saved step", async () => {
  lab = await openLab({}, documentHost(documentOf()));
  lab.one(".tvl-lines").focus();
  await lab.press("d");
  expect(lab.all(".tvl-line-changed code").map((c) => c.textContent)).toEqual(["for j_inner in vectorized(32):"]);
  await lab.press("[");
  expect(texts()).toContain("for j_inner in range(32):");
  await lab.click(tab("Python"));
  expect(lab.one(".tvl-note").textContent).toContain("saved for step 3 only");
});

test("names with markup stay text", async () => {
  lab = await openLab();
  const frame = lab.host.get("frame");
  const hostile = `for <img src=x onerror=alert(1)> in range(2):`;
  lab.host.set("frame", {
    ...frame,
    key: "h",
    loops: [{ d: 0, t: hostile, id: "__proto__" }],
    tree: [{ ...frame.tree[1]!, id: "constructor", name: "<b>\"'🙂" }],
  });
  await lab.rest();
  expect(texts()).toEqual([hostile]);
  expect(lab.root.querySelector("img")).toBeNull();
  expect(lab.one("[role=treeitem]").textContent).toContain("<b>\"'🙂");
});
