// @vitest-environment jsdom
import { Component, render } from "preact";
import { act } from "preact/test-utils";
import { expect, it, vi } from "vitest";
import { computed, signal } from "./signals";

it("draws again what read a value, and nothing else", async () => {
  const a = signal(1);
  const b = signal(10);
  const drawn = { a: 0, b: 0 };
  const A = () => (drawn.a++, (<i>{a.value}</i>));
  const B = () => (drawn.b++, (<b>{b.value}</b>));
  const root = document.createElement("div");
  await act(() => render(<><A /><B /></>, root));
  await act(() => void (a.value = 2));
  expect(root.textContent).toBe("210");
  expect(drawn).toEqual({ a: 2, b: 1 });
  await act(() => void (a.value = 2));
  expect(drawn.a).toBe(2);
});

it("a component's reads are its own, not those of what it draws", async () => {
  const inner = signal("x");
  let outer = 0;
  const Inner = () => <i>{inner.value}</i>;
  const Outer = () => (outer++, (<p><Inner /></p>));
  const root = document.createElement("div");
  await act(() => render(<Outer />, root));
  await act(() => void (inner.value = "y"));
  expect(root.textContent).toBe("y");
  expect(outer).toBe(1);
});

it("what a class reads before it draws is not read by who draws it", async () => {
  const inner = signal(1);
  let outer = 0;
  class Inner extends Component {
    read = inner.value;
    override render = () => <i>{this.read}</i>;
  }
  const Outer = () => (outer++, (<p><Inner /></p>));
  const root = document.createElement("div");
  await act(() => render(<Outer />, root));
  await act(() => void (inner.value = 2));
  expect(outer).toBe(1);
});

it("a computed value is computed when read, and again only after a change", () => {
  const n = signal(3);
  const square = vi.fn(() => n.value * n.value);
  const derived = computed(square);
  expect(square).not.toHaveBeenCalled();
  expect([derived.value, derived.value]).toEqual([9, 9]);
  expect(square).toHaveBeenCalledTimes(1);
  n.value = 4;
  expect(derived.value).toBe(16);
});

it("a computed value that comes out the same draws nothing again", async () => {
  const n = signal(3);
  const odd = computed(() => n.value % 2 === 1);
  let drawn = 0;
  const Odd = () => (drawn++, (<i>{String(odd.value)}</i>));
  const root = document.createElement("div");
  await act(() => render(<Odd />, root));
  await act(() => void (n.value = 5));
  expect(drawn).toBe(1);
  await act(() => void (n.value = 6));
  expect(root.textContent).toBe("false");
});

it("follows the branch that was taken", () => {
  const which = signal(true);
  const a = signal("a");
  const b = signal("b");
  const of = vi.fn(() => (which.value ? a.value : b.value));
  const chosen = computed(of);
  expect(chosen.value).toBe("a");
  which.value = false;
  expect(chosen.value).toBe("b");
  a.value = "other";
  expect(chosen.value).toBe("b");
  expect(of).toHaveBeenCalledTimes(2);
});

it("computed values of computed values agree once all have heard", async () => {
  const n = signal(1);
  const twice = computed(() => n.value * 2);
  const thrice = computed(() => n.value * 3);
  const sum = computed(() => twice.value + thrice.value);
  const Sum = () => <i>{sum.value}</i>;
  const root = document.createElement("div");
  await act(() => render(<Sum />, root));
  await act(() => void (n.value = 2));
  expect(root.textContent).toBe("10");
});

it("what was taken away is not drawn again", async () => {
  const a = signal(1);
  let drawn = 0;
  const A = () => (drawn++, (<i>{a.value}</i>));
  const root = document.createElement("div");
  await act(() => render(<A />, root));
  await act(() => render(null, root));
  a.value = 2;
  await act(() => {});
  expect(drawn).toBe(1);
});

it("one that throws leaves no reader behind", async () => {
  const a = signal(0);
  const Bad = () => {
    if (a.value >= 0) throw new Error("bad");
    return null;
  };
  const root = document.createElement("div");
  await expect(async () => act(() => render(<Bad />, root))).rejects.toThrow("bad");
  const free = signal(1);
  expect(free.value).toBe(1);
  expect((free as unknown as { readers: Set<unknown> }).readers.size).toBe(0);
});
