// @vitest-environment jsdom
import { afterEach, expect, test } from "vitest";
import { openLab, type Opened } from "../testing/lab";

let lab: Opened;
afterEach(() => lab.close());

const item = (name: string) => lab.one(`[data-action="${name}"]`);
const start = (name: string) => item(name).querySelector<HTMLElement>("[data-start]")!;
const applied = () => lab.asked("apply").map((request) => request.act);

test("the order is the kernel's, and a refused action can be focused to read why", async () => {
  lab = await openLab();
  expect(
    lab
      .all("[data-action]")
      .slice(0, 4)
      .map((i) => i.dataset.action),
  ).toEqual(["split", "tile", "fuse", "reorder"]);
  const refused = start("vectorize");
  expect(refused.getAttribute("aria-disabled")).toBe("true");
  refused.focus();
  expect(document.activeElement).toBe(refused);
  const reason = document.getElementById(refused.getAttribute("aria-describedby")!)!;
  expect(reason.textContent).toContain("both update C[0, 0]");
});

test("a refused action is never applied; its card offers what is legal with one click", async () => {
  lab = await openLab();
  await lab.click(start("vectorize"));
  expect(applied()).toEqual([]);
  const offer = Array.from(item("vectorize").querySelectorAll("button")).find((b) =>
    b.textContent!.includes("vectorize(j_inner)"),
  )!;
  await lab.click(offer);
  expect(applied()).toEqual([{ primitive: "vectorize", args: { axis: { axis: "C.j.inner" } } }]);
});

test("an alternative on a card is previewed while it is pointed at or has the focus, and the card stays", async () => {
  lab = await openLab();
  const offer = () => Array.from(item("vectorize").querySelectorAll("button")).find((b) => b.textContent!.startsWith("+ vectorize"))!;
  const ghosts = () => lab.all(".tvl-t-now-added").length;
  await lab.click(start("vectorize"));
  const point = async (event: Event) => {
    offer().dispatchEvent(event);
    await lab.rest();
    return ghosts();
  };
  expect(await point(new PointerEvent("pointermove", { bubbles: true }))).toBe(2);
  expect(lab.asked("preview").at(-1)!.act).toEqual({ primitive: "vectorize", args: { axis: { axis: "C.j.inner" } } });
  expect(await point(new PointerEvent("pointerleave"))).toBe(0);
  offer().focus();
  await lab.rest();
  expect(ghosts()).toBe(2);
  await lab.press("Escape");
  expect([lab.all(".tvl-card").length, ghosts()]).toEqual([0, 0]);
});

test("an alternative to a value is previewed without taking its card away", async () => {
  const moves = [{ text: "split(k, 8)", act: { primitive: "split", args: { parent: { axis: "C.k" }, factor: 8 } } }];
  const no = { title: "", text: "no", where: [], clash: "", moves, legal: [], hint: "", code: "" };
  lab = await openLab({
    preview: ({ act }) => ({ act, sign: act?.args.factor === 0 ? "x" : "+", reason: "", tree: [], diff: [], deltas: [], card: act?.args.factor === 0 ? no : null }),
  });
  await lab.click(start("split"));
  await lab.type(document.activeElement as HTMLInputElement, "0");
  item("split").querySelector(".tvl-moves button")!.dispatchEvent(new PointerEvent("pointermove"));
  await lab.rest(200);
  expect(lab.asked("preview").at(-1)!.act).toEqual(moves[0]!.act);
  expect(lab.one(".tvl-moves").textContent).toContain("split(k, 8)");
});

test("values: Enter applies what was typed", async () => {
  lab = await openLab();
  await lab.click(start("split"));
  const field = document.activeElement as HTMLInputElement;
  await lab.type(field, "32");
  await lab.press("Enter");
  expect(applied()).toEqual([{ primitive: "split", args: { parent: { axis: "C.k" }, factor: 32 } }]);
});

test("a value that the kernel refuses says so in its place, and Enter does nothing", async () => {
  lab = await openLab();
  await lab.click(start("split"));
  await lab.type(document.activeElement as HTMLInputElement, "0");
  expect(item("split").textContent).toContain("the factor must be positive");
  await lab.press("Enter");
  expect(applied()).toEqual([]);
});

test("an unknown one asks once more", async () => {
  lab = await openLab({
    preview: ({ act }) => ({ act, sign: "?", reason: "could not decide", tree: [], diff: [], deltas: [], card: null }),
  });
  await lab.click(start("parallel"));
  expect(applied()).toEqual([]);
  const sure = Array.from(item("parallel").querySelectorAll("button")).find((b) => b.textContent!.includes("anyway"))!;
  await lab.click(sure);
  expect(lab.asked("apply")[0]).toMatchObject({ sure: true });
});

test("a refusal by the kernel is shown under the action", async () => {
  const card = {
    title: "unroll(k)",
    text: "it changed in the meantime",
    where: [],
    clash: "",
    moves: [],
    legal: [],
    hint: "",
    code: "",
  };
  lab = await openLab({ apply: () => ({ refused: card }) });
  await lab.click(start("unroll"));
  expect(item("unroll").textContent).toContain("it changed in the meantime");
});

test("pointing for a while asks for one preview, leaving clears it", async () => {
  lab = await openLab();
  item("split").dispatchEvent(new PointerEvent("pointermove"));
  await lab.rest(10);
  expect(lab.asked("preview")).toEqual([]);
  await lab.rest(200);
  expect(lab.asked("preview")).toHaveLength(1);
  expect(lab.one(".tvl-would").textContent).toContain("-62 %");
  expect(lab.all(".tvl-t-now-added")).toHaveLength(2);
  item("split").dispatchEvent(new PointerEvent("pointerleave"));
  await lab.rest();
  expect(lab.all(".tvl-t-now-added")).toHaveLength(0);
});

test("an action that comes under a pointer at rest is not previewed", async () => {
  lab = await openLab();
  for (const kind of ["pointerover", "pointerenter"]) item("split").dispatchEvent(new PointerEvent(kind));
  await lab.rest(200);
  expect(lab.asked("preview")).toEqual([]);
});

test("values are previewed while the pointer rests on their form", async () => {
  lab = await openLab();
  item("split").dispatchEvent(new PointerEvent("pointermove"));
  await lab.click(start("split"));
  await lab.type(document.activeElement as HTMLInputElement, "4");
  expect(lab.asked("preview").at(-1)!.act).toMatchObject({ args: { factor: 4 } });
  expect(item("split").querySelector(".tvl-deltas")).not.toBeNull();
});

test("a loop order can be changed with buttons", async () => {
  lab = await openLab();
  await lab.click(start("reorder"));
  await lab.click(lab.one("[aria-label='k: inward']"));
  await lab.press("Enter");
  const apply = Array.from(item("reorder").querySelectorAll("button")).find((b) => b.textContent === "Apply")!;
  if (!applied().length) await lab.click(apply);
  expect(applied()).toEqual([{ primitive: "reorder", args: { order: [{ axis: "C.i.inner" }, { axis: "C.k" }] } }]);
});

test("a letter pressed while the list is of another selection waits for the right one", async () => {
  lab = await openLab();
  const ask = lab.host.ask.bind(lab.host);
  let release = () => {};
  lab.host.ask = async (request) => {
    if (request.kind === "select") await new Promise<void>((resolve) => (release = resolve));
    return ask(request);
  };
  lab
    .all("[role=treeitem]")
    .find((r) => r.dataset.id === "C.k")!
    .focus();
  await lab.press("ArrowDown");
  await lab.press("u");
  expect(applied()).toEqual([]);
  release();
  await lab.rest();
  expect(applied()).toHaveLength(1);
});

test("the list of a loop that was only passed by, coming late, leaves an open form alone", async () => {
  lab = await openLab();
  await lab.click(start("split"));
  const field = document.activeElement as HTMLInputElement;
  expect(item("split").contains(field)).toBe(true);
  const mine = lab.host.get("actions");
  lab.host.set("actions", { ...mine, ids: ["C"], items: mine.items.filter((i) => i.name !== "split") });
  await lab.rest();
  expect(document.activeElement).toBe(field);
  lab.host.set("actions", { ...mine });
  await lab.rest();
  expect(document.activeElement).toBe(field);
  await lab.press("Enter");
  expect(applied()).toHaveLength(1);
});

test("search", async () => {
  lab = await openLab();
  start("split").focus();
  await lab.press("/");
  await lab.type(document.activeElement as HTMLInputElement, "cache");
  expect(lab.all("[data-action]").map((i) => i.dataset.action)).toEqual(["cache_write", "recipe:tile-for-cache"]);
  await lab.press("Escape");
  expect(lab.all("[data-action]").length).toBeGreaterThan(8);
});
