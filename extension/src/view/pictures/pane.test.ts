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
