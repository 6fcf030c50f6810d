// The keys of the tree, apart from its looks.
import type { Store } from "../store";
import type { Drop } from "./drag";
import { neighbour, outline, range, step, toggled, visible, type Outline } from "./outline";

export interface Place {
  closed: ReadonlySet<string>;
  /** The row that has the focus, and the one where an extended selection began. */
  focus: string;
  anchor: string;
}

/** What a key that the tree is bound to does: the new place, or true when it did something else, or null: not a key of the tree. */
export function treeKey(event: KeyboardEvent, store: Store, place: Place): Place | true | null {
  const rows = store.shown.value.tree;
  const at = rows.findIndex((row) => row.id === place.focus);
  const row = rows[at];
  if (!row) return null;
  if (event.altKey) return reorder(event, store, row.id);
  if (event.key === " ") {
    store.select(toggled(store.selection.value, row.id));
    return { ...place, anchor: row.id };
  }
  if (event.key === "Enter" || event.key === ".") return want(store, "");
  if (event.key.length === 1) return want(store, event.key);
  const tree = outline(rows);
  const next = step(event.key, at, rows, tree, place.closed);
  if (!next) return null;
  if (next.open !== undefined || next.close !== undefined) return { ...place, closed: opened(place.closed, row.id) };
  return next.focus === undefined ? true : went(event, store, place, next.focus, tree);
}

export function opened(closed: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(closed);
  if (!next.delete(id)) next.add(id);
  return next;
}

function want(store: Store, key: string): true {
  if (store.acting.value) store.wanted.value = { key, from: "tree" };
  return true;
}

/** The selection follows the focus; Shift extends it, Ctrl leaves it alone. */
function went(event: KeyboardEvent, store: Store, place: Place, to: number, tree: Outline): Place {
  const rows = store.shown.value.tree;
  const focus = rows[to]!.id;
  if (event.ctrlKey) return { ...place, focus };
  if (!event.shiftKey) {
    store.select([focus]);
    return { ...place, focus, anchor: focus };
  }
  const from = rows.findIndex((row) => row.id === place.anchor);
  const seen = visible(rows, tree, place.closed);
  store.select(range(rows, seen, from < 0 ? to : from, to));
  return { ...place, focus };
}

function reorder(event: KeyboardEvent, store: Store, id: string): true | null {
  if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return null;
  void shift(store, id, event.key === "ArrowDown");
  return true;
}

/** Moves a loop one place inward or outward, or says why not. */
export async function shift(store: Store, id: string, inward: boolean): Promise<void> {
  const next = neighbour(store.shown.value.tree, id, inward);
  const say = (text: string) => (store.said.value = text);
  if (!store.acting.value) return;
  if (!next) return void say(inward ? "It is the innermost loop already." : "It is the outermost loop already.");
  const reply = await store.ask({ kind: "explain", what: "drops", ids: [id] });
  const drop = (reply.ok ? (reply.data as Drop[]) : []).find((d) => d.id === next.id);
  if (drop?.act && drop.sign === "+") await store.act({ kind: "apply", act: drop.act }, "tree");
  else say(drop?.reason || "It cannot go there.");
}
