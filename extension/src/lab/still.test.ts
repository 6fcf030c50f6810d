// @vitest-environment jsdom
import { expect, test } from "vitest";
import { complaint, readable, showDocument } from "./still";

const state = {
  head: {}, history: { steps: [] }, frame: { tree: [], loops: [] }, selection: [], actions: {}, runs: {}, message: {},
  story: { frames: [] },
};

test("a document is read", () => {
  expect(complaint({ schema: 1, state, pictures: [], sources: [] })).toBe("");
});

test.each([
  ["nothing", null, "not a saved lab"],
  ["a text", "lab", "not a saved lab"],
  ["a list", [], "not a saved lab"],
  ["a newer one", { schema: 2, state, pictures: [], sources: [] }, "newer version"],
  ["one without a state", { schema: 1, pictures: [], sources: [] }, "damaged"],
  ["one without steps", { schema: 1, state: { ...state, history: {} }, pictures: [], sources: [] }, "history.steps"],
  ["one with a wrong trait", { schema: 1, state: { ...state, head: [] }, pictures: [], sources: [] }, "head"],
])("%s is explained in its place", (_, data, text) => {
  const place = document.createElement("div");
  const gone = showDocument(place, data);
  expect(place.textContent).toContain(text);
  gone();
  expect(place.childNodes.length).toBe(0);
});

test("pictures and sources that do not say what they are, are passed over", () => {
  const strange = [null, 1, [], {}, { kind: 7 }, { kind: "" }];
  const kept = [{ kind: "graph" }];
  const read = readable({ schema: 1, state, pictures: [...strange, ...kept], sources: strange } as never);
  expect([read.pictures, read.sources]).toEqual([kept, []]);
});
