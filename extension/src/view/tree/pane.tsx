// The schedule as a tree of loops: choose, fold, reorder, drag.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CardView } from "../actions/card";
import { useStore } from "../store";
import { makeDrag } from "./drag";
import { ghosts, type Ghost } from "./ghost";
import { opened, shift, treeKey, type Place } from "./keys";
import { outline, range, toggled, visible } from "./outline";
import { RowView } from "./row";
import { DragTip } from "./tip";
import "./tree.css";

export function TreePane() {
  const store = useStore();
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<Place>({ closed: new Set(), focus: "", anchor: "" });
  const drag = useMemo(() => makeDrag(store, () => box.current), [store]);
  const rows = store.shown.value.tree;
  const tree = useMemo(() => outline(rows), [rows]);
  const selection = store.selection.value;
  const held = drag.held.value;
  const preview = held?.what === "move" ? null : store.preview.value;
  const list = useMemo<Ghost[]>(() => {
    if (preview?.tree.length) return ghosts(rows, preview.tree);
    return visible(rows, tree, place.closed).map((i) => ({ row: rows[i]!, now: "kept" }));
  }, [rows, tree, place.closed, preview]);
  const index = useMemo(() => new Map(rows.map((row, i) => [row.id, i])), [rows]);
  const focus = index.has(place.focus) ? place.focus : (selection.find((id) => index.has(id)) ?? rows[0]?.id ?? "");

  // A row that was acted on may be gone: the focus, if it was here, goes to what stands for it now.
  const had = useRef(false);
  useLayoutEffect(() => {
    if (had.current && box.current && !box.current.contains(document.activeElement)) focusRow(box.current, focus);
  }, [focus, rows]);
  useEffect(() => {
    if (selection.length && !selection.includes(place.focus) && !had.current) setPlace((p) => ({ ...p, focus: "" }));
  }, [selection]);

  const go = (next: Place) => {
    setPlace(next);
    requestAnimationFrame(() => box.current && focusRow(box.current, next.focus));
  };
  const choose = (event: MouseEvent, id: string) => {
    const at = index.get(id);
    if (at === undefined) return;
    const from = index.get(place.anchor) ?? index.get(focus) ?? at;
    if (event.shiftKey) store.select(range(rows, visible(rows, tree, place.closed), from, at));
    else store.select(event.ctrlKey || event.metaKey ? toggled(selection, id) : [id]);
    setPlace({ ...place, focus: id, anchor: event.shiftKey ? place.anchor : id });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && drag.held.value) drag.cancel();
    else {
      const next = treeKey(event, store, { ...place, focus });
      if (next === null) return;
      if (next !== true) go(next);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const onClick = (event: MouseEvent) => {
    const target = event.target as Element;
    const id = target.closest("[role=treeitem]")?.getAttribute("data-id");
    if (drag.ended() || id === null || id === undefined) return;
    if (target.closest("[data-twisty]")) setPlace({ ...place, closed: opened(place.closed, id) });
    else choose(event, id);
  };
  const loop = selection.length === 1 && rows[index.get(selection[0]!) ?? -1]?.kind === "loop" ? selection[0]! : "";
  const refused = store.refused.value?.where === "tree" ? store.refused.value.card : null;
  const doubt = drag.doubt.value;
  return (
    <div class="tv-tree" onFocusOut={(e) => e.relatedTarget && (had.current = false)}>
      {store.live && (
        <div class="tv-bar" role="group" aria-label="Move the loop">
          <button type="button" disabled={!loop} onClick={() => shift(store, loop, false)} title="Alt+Up">
            ↑ outward
          </button>
          <button type="button" disabled={!loop} onClick={() => shift(store, loop, true)} title="Alt+Down">
            ↓ inward
          </button>
        </div>
      )}
      <div
        ref={box}
        class={`tv-rows${held ? " tv-dragging" : ""}`}
        role="tree"
        aria-label="Schedule"
        aria-multiselectable="true"
        onKeyDown={onKeyDown}
        onFocusIn={() => (had.current = true)}
        onClick={onClick}
        onPointerDown={drag.down}
        onPointerMove={drag.move}
        onPointerUp={drag.up}
        onPointerCancel={drag.cancel}
      >
        {list.map((ghost) => {
          const at = ghost.now === "added" ? -1 : (index.get(ghost.row.id) ?? -1);
          const inner = at >= 0 && tree.end[at]! > at + 1;
          return (
            <RowView
              key={`${ghost.row.id}${ghost.now === "added" ? "\n+" : ""}`}
              ghost={ghost}
              open={inner ? !place.closed.has(ghost.row.id) : undefined}
              selected={at >= 0 && selection.includes(ghost.row.id)}
              focus={at >= 0 && ghost.row.id === focus}
              drop={held?.drops?.get(ghost.row.id)}
              over={held?.over === ghost.row.id && held.row.id !== ghost.row.id}
              below={held ? at > (index.get(held.row.id) ?? 0) : false}
              held={held?.row.id === ghost.row.id}
              onto={held?.row.kind === "stage"}
              live={store.live}
              fresh={ghost.row.step > 0 && ghost.row.step === store.at.value}
            />
          );
        })}
      </div>
      {held && <DragTip held={held} />}
      {doubt && (
        <div class="tv-doubt" role="group" aria-label="Not decided">
          <p>{doubt.reason}</p>
          <button
            type="button"
            onClick={() => {
              drag.doubt.value = null;
              if (doubt.act) void store.act({ kind: "apply", act: doubt.act, sure: true }, "tree");
            }}
          >
            Apply anyway
          </button>
          <button type="button" onClick={() => (drag.doubt.value = null)}>
            Leave it
          </button>
        </div>
      )}
      {refused && (
        <CardView
          card={refused}
          onMove={(act) => void store.act({ kind: "apply", act }, "tree")}
          onClose={() => (store.refused.value = null)}
        />
      )}
    </div>
  );
}

function focusRow(box: HTMLElement, id: string): void {
  const row = Array.from(box.querySelectorAll<HTMLElement>("[role=treeitem]")).find((r) => r.dataset.id === id);
  row?.focus({ preventScroll: true });
  row?.scrollIntoView?.({ block: "nearest" });
}
