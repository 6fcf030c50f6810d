// @vitest-environment jsdom
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LabSettings } from "./settings";

const schema = JSON.parse(readFileSync("schema/plugin.json", "utf8")).properties;
const usual = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, (part as { default: unknown }).default]));

test("what nobody has set is as the schema says", () => {
  const settings = new LabSettings();
  expect(settings.loaded).toBe(false);
  settings.take({});
  expect(settings.values).toEqual(usual);
});

test("what is set is told, and half a budget is filled up", () => {
  const settings = new LabSettings();
  const told: unknown[] = [];
  settings.changed.connect(({ values, loaded }) => told.push([values, loaded]));
  settings.take({ allowUnknown: "never", runBudget: { seconds: 5 } as never });
  expect(told).toEqual([[{ ...usual, allowUnknown: "never", runBudget: { seconds: 5, rounds: 30 } }, true]]);
});

test("the page shows what style sheets go by", () => {
  new LabSettings().take({ palette: "high contrast", staticCompanion: "never", defaultLayout: "narrow", animation: "off" });
  const { tvlPalette, tvlCopy, tvlLayout, tvlMotion } = document.body.dataset;
  expect([tvlPalette, tvlCopy, tvlLayout, tvlMotion]).toEqual(["high contrast", "never", "narrow", "off"]);
});

// ---- the palette

const css = readFileSync("src/lab/style.css", "utf8");

function tokens(after: string): Record<string, string> {
  const body = css.slice(css.indexOf(`${after} {`)).split("}", 1)[0]!;
  return Object.fromEntries([...body.matchAll(/--tv-(\w+): (#\w{6});/g)].map(([, name, value]) => [name, value]));
}

function light(hex: string): number {
  const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
  const [r, g, b] = parts.map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

const contrast = (a: string, b: string) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);

test.each(["", '[data-theme="dark"]'])("high contrast: 7 to 1 on every ground%s", (theme) => {
  const found = tokens(`body[data-tvl-palette="high contrast"] .tvl${theme}`);
  const { bg, bg2, bg3, soft, add, del, change, ...inks } = found;
  expect(Object.keys(inks).length).toBeGreaterThan(15);
  for (const [name, ink] of Object.entries(inks))
    for (const ground of [bg, bg2, bg3, soft, add, del, change])
      expect(contrast(ink, ground!), `${name} ${ink} on ${ground}`).toBeGreaterThanOrEqual(7);
});

test("high contrast: both themes set the same, all that a lab's colours come from", () => {
  const [day, night] = ["", '[data-theme="dark"]'].map((t) => Object.keys(tokens(`body[data-tvl-palette="high contrast"] .tvl${t}`)));
  expect(night).toEqual(day);
  const sheet = readFileSync("src/view/lab.css", "utf8").split("position: relative")[0]!;
  const derived = new Set(["shade", "radius", "var", "mark"]);
  const all = [...sheet.matchAll(/--tv-(\w+):/g)].map(([, name]) => name!);
  expect(all.filter((name) => !derived.has(name) && !day!.includes(name))).toEqual([]);
});
