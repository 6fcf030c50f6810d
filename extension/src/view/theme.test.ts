// @vitest-environment jsdom
import { beforeEach, expect, it } from "vitest";
import { followTheme, themeOf } from "./theme";

beforeEach(() => {
  document.body.className = "";
  document.body.removeAttribute("data-jp-theme-light");
  document.documentElement.removeAttribute("data-theme");
});

it("JupyterLab says it on the body", () => {
  document.body.setAttribute("data-jp-theme-light", "true");
  expect(themeOf(document, true)).toBe("light");
  document.body.setAttribute("data-jp-theme-light", "false");
  expect(themeOf(document, false)).toBe("dark");
});

it("other hosts by an attribute or a class; else the system", () => {
  expect([themeOf(document, true), themeOf(document, false)]).toEqual(["dark", "light"]);
  document.body.className = "vscode-high-contrast";
  expect(themeOf(document, false)).toBe("dark");
  document.body.className = "vscode-light";
  expect(themeOf(document, true)).toBe("light");
  document.documentElement.setAttribute("data-theme", "dark");
  expect(themeOf(document, false)).toBe("dark");
});

it("follows a switch until it is stopped", async () => {
  const element = document.createElement("div");
  document.body.setAttribute("data-jp-theme-light", "true");
  const stop = followTheme(element);
  expect(element.dataset.theme).toBe("light");
  document.body.setAttribute("data-jp-theme-light", "false");
  await Promise.resolve();
  expect(element.dataset.theme).toBe("dark");
  stop();
  document.body.setAttribute("data-jp-theme-light", "true");
  await Promise.resolve();
  expect(element.dataset.theme).toBe("dark");
});
