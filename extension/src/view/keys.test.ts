// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ANY, chordOf, guard, makeKeys } from "./keys";

const event = (key: string, more: KeyboardEventInit = {}) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });

it("names chords as they are typed", () => {
  expect(chordOf(event("s"))).toBe("s");
  expect(chordOf(event("?", { shiftKey: true }))).toBe("?");
  expect(chordOf(event("N", { shiftKey: true }))).toBe("N");
  expect(chordOf(event("Z", { ctrlKey: true, shiftKey: true }))).toBe("Mod+Shift+z");
  expect(chordOf(event("z", { metaKey: true }))).toBe("Mod+z");
  expect(chordOf(event("ArrowUp", { altKey: true }))).toBe("Alt+ArrowUp");
  expect(chordOf(event("ArrowUp", { shiftKey: true }))).toBe("Shift+ArrowUp");
  expect(chordOf(event(" "))).toBe("Space");
  expect(chordOf(event("F6", { shiftKey: true }))).toBe("Shift+F6");
});

// A notebook (`cell`) around a lab with a pane, a button and a text field.
let cell: HTMLElement, root: HTMLElement, button: HTMLElement, field: HTMLElement;
let single: boolean, keys: ReturnType<typeof makeKeys>;
let notebook: string[]; // keys that the notebook hears

beforeEach(() => {
  document.body.innerHTML = `<div class="jp-Cell" tabindex="0"><div id="root"><section data-pane="tree"><button>a</button><input /></section></div></div>`;
  cell = document.querySelector(".jp-Cell")!;
  root = document.querySelector("#root")!;
  button = document.querySelector("button")!;
  field = document.querySelector("input")!;
  single = true;
  keys = makeKeys(() => single);
  notebook = [];
  root.addEventListener("keydown", (e) => keys.handle(e, root));
  cell.addEventListener("keydown", (e) => notebook.push(chordOf(e)));
});
afterEach(() => document.body.replaceChildren());

const press = (on: HTMLElement, key: string, more: KeyboardEventInit = {}) => {
  const sent = event(key, more);
  on.dispatchEvent(sent);
  return sent;
};

it("keeps every key without Ctrl, Cmd or Alt inside, used or not", () => {
  for (const key of ["b", "a", "d", "Enter", "ArrowUp", "Backspace", " ", "{"]) press(button, key);
  press(button, "ArrowUp", { shiftKey: true });
  expect(notebook).toEqual([]);
});

it("lets Shift+Enter, function keys and chords that nobody uses pass to the notebook", () => {
  press(button, "Enter", { shiftKey: true });
  press(button, "s", { ctrlKey: true });
  press(button, "F11");
  press(button, "c", { metaKey: true, shiftKey: true });
  expect(notebook).toEqual(["Shift+Enter", "Mod+s", "F11", "Mod+Shift+c"]);
});

it("a key that is used goes no further, chords too", () => {
  const used = vi.fn();
  keys.bind("tree", () => ({ s: used, "Mod+z": { does: "undo", run: used } }));
  expect(press(button, "s").defaultPrevented).toBe(true);
  expect(press(button, "z", { ctrlKey: true }).defaultPrevented).toBe(true);
  expect(used).toHaveBeenCalledTimes(2);
  expect(notebook).toEqual([]);
});

it("the pane comes before the lab, the newest binding first, and who returns false passes it on", () => {
  const order: string[] = [];
  keys.bind(ANY, () => ({ s: () => void order.push("any") }));
  keys.bind("tree", () => ({ s: () => void order.push("old") }));
  const off = keys.bind("tree", () => ({ s: () => (order.push("new"), false) }));
  press(button, "s");
  off();
  press(button, "s");
  expect(order).toEqual(["new", "old", "old"]);
});

it("typing is never a command; Mod+Enter is", () => {
  const used = vi.fn();
  keys.bind(ANY, () => ({ s: used, "Mod+z": used, "Mod+Enter": used }));
  press(field, "s");
  press(field, "z", { ctrlKey: true });
  expect(used).not.toHaveBeenCalled();
  press(field, "Enter", { ctrlKey: true });
  expect(used).toHaveBeenCalledTimes(1);
  expect(notebook).toEqual([]);
});

it("a component that prevents the default has used the key", () => {
  const used = vi.fn();
  keys.bind("tree", () => ({ ArrowDown: used }));
  button.addEventListener("keydown", (e) => e.preventDefault());
  press(button, "ArrowDown");
  press(button, "Enter", { ctrlKey: true });
  expect(used).not.toHaveBeenCalled();
  expect(notebook).toEqual([]);
});

it("single letters can be turned off, and still do not reach the notebook", () => {
  const used = vi.fn();
  keys.bind(ANY, () => ({ s: used, "[": used, ArrowUp: used, Space: used }));
  single = false;
  press(button, "s");
  press(button, "[");
  expect(used).not.toHaveBeenCalled();
  press(button, "ArrowUp");
  press(button, " ");
  expect(used).toHaveBeenCalledTimes(2);
  expect(notebook).toEqual([]);
});

it("Esc closes the innermost thing, then leaves the lab for the cell", () => {
  const closed: string[] = [];
  const outer = keys.onEscape(() => (closed.push("outer"), outer()));
  const inner = keys.onEscape(() => (closed.push("inner"), inner()));
  button.focus();
  press(button, "Escape");
  press(button, "Escape");
  expect(closed).toEqual(["inner", "outer"]);
  expect(notebook).toEqual([]);
  press(button, "Escape");
  expect(document.activeElement).toBe(cell);
  expect(notebook).toEqual(["Escape"]);
});

it("lists what is said of the keys", () => {
  keys.bind("tree", () => ({ s: { does: "split", run: () => {} }, ArrowUp: () => {} }));
  expect(keys.list()).toEqual([{ pane: "tree", chord: "s", does: "split" }]);
});

it("a chord called like a property of every object is nobody's", () => {
  keys.bind("tree", () => ({}));
  const odd = event("constructor");
  expect(() => button.dispatchEvent(odd)).not.toThrow();
  expect(odd.defaultPrevented).toBe(false);
});

it("who listens before the lab is told which keys are the lab's, and no longer once the lab is gone", () => {
  let early: string[] = []; // as Notebook 7: on the document, capturing, unless the target is marked
  const listen = (e: KeyboardEvent) => {
    if (!(e.target as Element).hasAttribute("data-lm-suppress-shortcuts")) early.push(chordOf(e));
  };
  document.addEventListener("keydown", listen, true);
  const stop = guard(root, keys);
  keys.bind("tree", () => ({ "Mod+z": () => {} }));
  for (const key of ["b", "ArrowDown", "Enter", " "]) press(button, key);
  press(button, "z", { ctrlKey: true });
  press(field, "z", { ctrlKey: true });
  const open = keys.onEscape(() => open());
  press(button, "Escape");
  expect(early).toEqual([]);
  press(button, "Escape");
  press(button, "Enter", { shiftKey: true });
  press(button, "s", { ctrlKey: true });
  press(cell, "b");
  expect(early).toEqual(["Escape", "Shift+Enter", "Mod+s", "b"]);
  expect(document.querySelector("[data-lm-suppress-shortcuts]")).toBe(null);
  early = [];
  press(button, "b");
  stop();
  press(button, "b");
  expect(early).toEqual(["b"]);
  document.removeEventListener("keydown", listen, true);
});
