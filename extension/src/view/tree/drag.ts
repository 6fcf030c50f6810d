// Dragging in the tree with pointer events: a row over others, or the right edge of an extent.
import { signal, type Signal } from "../signals";
import { latest } from "../actions/latest";
import { changed } from "../actions/values";
import type { Act, Preview, Reply, Row } from "../payload";
import type { Store } from "../store";
import { snap, type Snap } from "./snap";

/** A place where the dragged row may or may not go, with what it would take. */
export interface Drop {
  id: string;
  sign: "+" | "x" | "?" | "=";
  reason: string;
  act: Act | null;
}

export interface Held {
  what: "move" | "split";
  row: Row;
  /** Of the pointer, in the window. */
  x: number;
  y: number;
  /** Null until the kernel has answered. */
  drops: Map<string, Drop> | null;
  over: string;
  snap: Snap | null;
}

const SLACK = 5; // pixels before a press becomes a drag

export interface Drag {
  held: Signal<Held | null>;
  /** A drop that the kernel could not decide waits here for a yes. */
  doubt: Signal<Drop | null>;
  down(event: PointerEvent): void;
  move(event: PointerEvent): void;
  up(event: PointerEvent): void;
  cancel(): void;
  /** True right after a drag: the click that ends it is no choice. */
  ended(): boolean;
}

interface Press {
  what: "move" | "split";
  row: Row;
  pointer: number;
  x: number;
  y: number;
}

export function makeDrag(store: Store, tree: () => HTMLElement | null): Drag {
  const held = signal<Held | null>(null);
  const doubt = signal<Drop | null>(null);
  let press: Press | null = null;
  let last = 0;
  const previews = latest(
    (act: Act) => store.ask({ kind: "preview", act }),
    (reply: Reply) => {
      if (held.value && reply.ok) store.preview.value = reply.data as Preview;
    },
  );

  function stop() {
    press = null;
    held.value = null;
    previews.drop();
    store.preview.value = null;
  }

  async function start(from: Press, event: PointerEvent) {
    tree()?.setPointerCapture?.(from.pointer);
    const { what, row } = from;
    held.value = { what, row, x: event.clientX, y: event.clientY, drops: null, over: "", snap: null };
    if (what === "split") return store.select([row.id]);
    const reply = await store.ask({ kind: "explain", what: "drops", ids: [row.id] });
    if (held.value?.row !== row) return;
    const drops = reply.ok && Array.isArray(reply.data) ? (reply.data as Drop[]) : [];
    held.value = { ...held.value, drops: new Map(drops.map((drop) => [drop.id, drop])) };
  }

  function resize(now: Held, from: Press, event: PointerEvent) {
    const next = snap(now.row.n ?? 0, from.x - event.clientX);
    held.value = { ...now, x: event.clientX, y: event.clientY, snap: next };
    if (next?.factor === now.snap?.factor) return;
    if (next) return void ghost(now.row.id, next.factor);
    previews.drop();
    store.preview.value = null;
  }

  async function ghost(id: string, factor: number) {
    const act = await soon(store, id, factor);
    if (act && held.value?.snap?.factor === factor) previews.ask(act);
  }

  function carry(now: Held, event: PointerEvent) {
    const over = scrolled(tree()?.parentElement, event.clientY) ? rowUnder(tree(), event.clientY) : "";
    held.value = { ...now, over, x: event.clientX, y: event.clientY };
  }

  async function finish(now: Held) {
    last = performance.now();
    const drop = now.drops?.get(now.over);
    const act = now.what === "split" && now.snap ? await soon(store, now.row.id, now.snap.factor) : null;
    stop();
    if (act) return void store.act({ kind: "apply", act }, "tree");
    if (!drop) return;
    if (drop.sign === "?" && drop.act) doubt.value = drop;
    else if (drop.sign === "+" && drop.act) void store.act({ kind: "apply", act: drop.act }, "tree");
    else store.said.value = drop.reason;
  }

  return {
    held,
    doubt,
    down(event) {
      const target = event.target as Element;
      const row = store.shown.value.tree.find((r) => r.id === target.closest("[data-id]")?.getAttribute("data-id"));
      if (!store.acting.value || event.button !== 0 || !row || row.kind === "input") return;
      const what = target.closest("[data-edge]") ? "split" : "move";
      if (event.pointerType === "touch" && what === "move" && !target.closest("[data-handle]")) return; // it scrolls
      press = { what, row, pointer: event.pointerId, x: event.clientX, y: event.clientY };
    },
    move(event) {
      if (!press || event.pointerId !== press.pointer) return;
      const now = held.value;
      if (now) return now.what === "split" ? resize(now, press, event) : carry(now, event);
      if (Math.hypot(event.clientX - press.x, event.clientY - press.y) > SLACK) void start(press, event);
    },
    up(event) {
      if (!press || event.pointerId !== press.pointer) return;
      const now = held.value;
      press = null;
      if (now) void finish(now);
    },
    cancel: stop,
    ended: () => performance.now() - last < 50,
  };
}

/** The split of a loop by a factor, once the actions of that loop are there. */
function splitAct(store: Store, id: string, factor: number): Act | null {
  const { ids, items } = store.actions.value;
  if (ids.length !== 1 || ids[0] !== id) return null;
  const split = items.find((item) => item.name === "split");
  return split?.act ? changed(split.act, split.params.find((p) => p.kind === "factor")?.name ?? "factor", factor) : null;
}

/** As `splitAct`; a quick drag may end before the actions are there. */
async function soon(store: Store, id: string, factor: number): Promise<Act | null> {
  for (let tries = 0; tries < 20; tries++) {
    const act = splitAct(store, id, factor);
    if (act || store.selection.value[0] !== id) return act;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

const EDGE = 20; // pixels from the pane's edge where a drag scrolls it

/** Scrolls the pane while something is held at its edge; false where the pointer is outside of it. */
function scrolled(pane: HTMLElement | null | undefined, y: number): boolean {
  if (!pane) return false;
  const { top, bottom } = pane.getBoundingClientRect();
  if (y < top + EDGE) pane.scrollTop -= EDGE / 2;
  else if (y > bottom - EDGE) pane.scrollTop += EDGE / 2;
  return y >= top && y <= bottom;
}

function rowUnder(tree: HTMLElement | null, y: number): string {
  for (const row of Array.from(tree?.querySelectorAll("[role=treeitem]") ?? [])) {
    const { top, bottom } = row.getBoundingClientRect();
    if (y >= top && y < bottom) return row.getAttribute("data-id") ?? "";
  }
  return "";
}
