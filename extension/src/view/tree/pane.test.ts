// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test } from "vitest";
import { openLab, type Opened } from "../testing/lab";

let lab: Opened;
beforeEach(async () => {
  lab = await openLab();
});
afterEach(() => lab.close());

const row = (id: string) => lab.all("[role=treeitem]").find((r) => r.dataset.id === id)!;
const chosen = () => lab.all("[role=treeitem][aria-selected=true]").map((r) => r.dataset.id);

test("rows say what they are, and one of them is the tab stop", () => {
  const fit = lab.one("[data-id='C.j.inner'] .tvl-t-fit");
  expect([fit.textContent, fit.style.getPropertyValue("--part")]).toEqual(["L1", "0.25"]);
  expect(row("C.j.inner").querySelector(".tvl-hidden")!.textContent).toBe(`loop j inner, extent 32, vectorized, step 3, ${fit.title}`);
  expect(row("C.k").getAttribute("aria-level")).toBe("4");
  expect(lab.all("[role=treeitem][tabindex='0']").map((r) => r.dataset.id)).toEqual(["C.k"]);
});

test("arrows move the focus and the selection, Shift extends it, Space takes one out", async () => {
  row("C.k").focus();
  await lab.press("ArrowDown");
  expect(chosen()).toEqual(["C.i.inner"]);
  await lab.press("ArrowDown", { shiftKey: true });
  expect(chosen()).toEqual(["C.i.inner", "C.j.inner"]);
  await lab.press(" ");
  expect(chosen()).toEqual(["C.i.inner"]);
  expect((document.activeElement as HTMLElement).dataset.id).toBe("C.j.inner");
  expect(lab.asked("select").at(-1)!.ids).toEqual(["C.i.inner"]);
});

test("a selection is shown at once, and an older one that the kernel still reports does not jump back", async () => {
  const ask = lab.host.ask.bind(lab.host);
  let answer = () => {};
  lab.host.ask = async (request) => {
    if (request.kind === "select") await new Promise<void>((resolve) => (answer = resolve));
    return ask(request);
  };
  row("C.k").focus();
  document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  await lab.rest(5);
  expect(chosen()).toEqual(["C.i.inner"]);
  lab.host.set("selection", ["C"]);
  await lab.rest(5);
  expect(chosen()).toEqual(["C.i.inner"]);
  answer();
  await lab.rest();
  expect(chosen()).toEqual(["C.i.inner"]);
  lab.host.set("selection", ["C"]); // now it is the kernel's turn
  await lab.rest();
  expect(chosen()).toEqual(["C"]);
});

test("Left closes and Right opens", async () => {
  row("C.k").focus();
  await lab.press("ArrowLeft");
  expect(row("C.k").getAttribute("aria-expanded")).toBe("false");
  expect(row("C.i.inner")).toBeUndefined();
  await lab.press("ArrowRight");
  expect(row("C.i.inner")).toBeDefined();
});

test("Alt+Up asks where the loop may go, and applies what is legal", async () => {
  row("C.k").focus();
  await lab.press("ArrowUp", { altKey: true });
  expect(lab.asked("explain")[0]).toMatchObject({ what: "drops", ids: ["C.k"] });
  expect(lab.asked("apply")[0]!.act).toEqual({ primitive: "reorder", args: { order: [{ axis: "C.k" }, { axis: "C.j.outer" }] } });
});

test("Alt+Down into a place that is refused applies nothing and says why", async () => {
  row("C.i.inner").focus();
  await lab.press("ArrowDown", { altKey: true });
  expect(lab.asked("apply")).toEqual([]);
  expect(lab.one(".tvl-messages").textContent).toContain("must stay innermost");
});

test("a letter opens the action; Esc brings the focus back to the row", async () => {
  row("C.k").focus();
  await lab.press("s");
  expect((document.activeElement as HTMLInputElement).value).toBe("16");
  await lab.press("Escape");
  expect((document.activeElement as HTMLElement).dataset.id).toBe("C.k");
  expect(lab.asked("apply")).toEqual([]);
});

test("keys that act stay inside, Shift+Enter and unused chords pass", async () => {
  const passed: string[] = [];
  document.addEventListener("keydown", (event) => passed.push(event.key));
  row("C.k").focus();
  for (const key of ["b", "ArrowDown", "q"]) await lab.press(key);
  await lab.press("Enter", { shiftKey: true });
  await lab.press("i", { ctrlKey: true });
  expect(passed).toEqual(["Enter", "i"]);
});

test("the places that an open form offers are lit in the tree", async () => {
  const items = lab.host.get("actions").items.map((item) =>
    item.name === "cache_write"
      ? {
          ...item,
          params: [
            {
              ...item.params[0]!,
              choices: [
                { value: { axis: "C.j.outer" }, label: "j", sign: "+" as const },
                { value: { axis: "C.i.outer" }, label: "i", sign: "x" as const },
              ],
            },
          ],
        }
      : item,
  );
  lab.host.set("actions", { ...lab.host.get("actions"), items });
  await lab.rest();
  await lab.click(lab.one("[data-action=cache_write] [data-start]"));
  expect(row("C.j.outer").classList.contains("tvl-t-drop-yes")).toBe(true);
  expect(row("C.i.outer").classList.contains("tvl-t-drop-no")).toBe(true);
  await lab.press("Escape");
  expect(lab.all(".tvl-t-drop-yes, .tvl-t-drop-no")).toHaveLength(0);
});
