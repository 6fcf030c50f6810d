// @vitest-environment jsdom
import { afterEach, expect, test } from "vitest";
import { documentHost } from "../host";
import { documentOf } from "../testing/kernel";
import { openLab, type Opened } from "../testing/lab";
import { caches, scale } from "./levels";

let lab: Opened | undefined;
afterEach(() => lab?.close());

const press = (label: string) => lab!.all("[data-pane=pictures] button").find((b) => b.textContent === label)!;

test("a click in the drawing chooses, and what is chosen is marked", async () => {
  lab = await openLab();
  await lab.rest(200);
  await lab.click(lab.one("[data-pane=pictures] svg [data-id=C]"));
  expect(lab.asked("select").at(-1)!.ids).toEqual(["C"]);
  expect(lab.one("[data-pane=pictures] svg [data-id=C]").classList.contains("tvl-chosen")).toBe(true);
});

test("every picture has its table, and a row of it chooses", async () => {
  lab = await openLab();
  await lab.rest(200);
  await lab.click(press("Table"));
  expect(lab.one("[data-pane=pictures] th").textContent).toBe("stage");
  await lab.click(lab.one("[data-pane=pictures] td button"));
  expect(lab.asked("select").at(-1)!.ids).toEqual(["C"]);
});

test("metrics are drawn from the frame, without a request", async () => {
  lab = await openLab();
  await lab.rest(200);
  const before = lab.asked("picture").length;
  await lab.click(press("Metrics"));
  expect(lab.one("[data-pane=pictures] svg").querySelectorAll("[data-id]")).toHaveLength(5);
  expect(lab.asked("picture")).toHaveLength(before);
});

test("what a picture is to show is chosen in its fields and by a click", async () => {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g data-id="?warp=2"><path d="M0 0h9"/></g></svg>`;
  const params = [{ name: "warp", label: "warp", kind: "int", value: 1, choices: [], least: 0, most: 7 }];
  const note = "warp 9 is not there: 1 is shown";
  lab = await openLab({
    picture: ({ what }) => (what ? { ...documentOf().pictures[0], svg, params, note } : [{ kind: "graph", label: "Graph" }]),
  });
  await lab.rest(200);
  await lab.click(lab.one("[data-pane=pictures] [data-id='?warp=2']"));
  expect(lab.asked("look").at(-1)).toMatchObject({ what: "graph", values: { warp: "2" } });
  await lab.click(lab.one("[data-pane=pictures] button[aria-label='warp: larger']"));
  expect(lab.asked("look").at(-1)!.values).toEqual({ warp: 2 });
  expect(lab.asked("select")).toHaveLength(0);
  expect(lab.one("[data-pane=pictures] .tvl-note").textContent).toBe(note);
});

test("a picture that is no SVG points at its table", async () => {
  lab = await openLab({
    picture: ({ what }) => (what ? { ...documentOf().pictures[0], svg: "<html>" } : [{ kind: "graph", label: "Graph" }]),
  });
  await lab.rest(200);
  expect(lab.one(".tvl-drawing").textContent).toContain("table");
});

test("without a kernel: the saved picture, and no controls that act", async () => {
  lab = await openLab({}, documentHost(documentOf()));
  await lab.rest(200);
  expect(lab.one("[data-pane=pictures] svg [data-id=C]")).toBeDefined();
  await lab.click(lab.all("button").find((b) => b.textContent === "Back")!);
  expect(lab.one("[data-pane=pictures] .tvl-note").textContent).toBe("This picture was saved for step 3 only.");
  expect(lab.all("[data-pane=actions], [data-edge], [data-handle]")).toHaveLength(0);
});

test("caches are read from the machine's lines", () => {
  const lines = ["L1 48 KiB, 12 ways", "L2: 1.25 MiB", "8 cores", "AVX2"];
  expect(caches({ name: "m", label: "m", lines })).toEqual([
    { name: "L1", bytes: 48 * 1024 },
    { name: "L2", bytes: 1.25 * 1024 ** 2 },
  ]);
  expect(caches(undefined)).toEqual([]);
  expect(scale(1024)(32)).toBe(0.5);
});
