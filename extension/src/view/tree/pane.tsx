// The schedule as a tree of loops: choose, fold, reorder, drag.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useEscape, useKeys, type Bindings } from "../keys";
import { useStore, type Store } from "../store";
import { Button } from "../ui/button";
import { Pane } from "../ui/pane";
import { Refusal } from "../ui/refusal";
import { makeDrag, type Drag } from "./drag";
import { fits } from "./fit";
import { ghosts, type Ghost } from "./ghost";
import { opened, shift, treeKey, type Place } from "./keys";
import { outline, range, toggled, visible } from "./outline";
import { RowView } from "./row";
import { DragTip } from "./tip";
import "./tree.css";

export function TreePane() {
  const store = useStore();
  const box = useRef<HTMLDivElement>(null);
  const drag = useMemo(() => makeDrag(store, () => box.current), [store]);
  const frame = store.shown.value;
  return (
    <Pane name="tree" title="Schedule" of={frame} tools={store.acting.value && <Moves store={store} />}>
      <Tree store={store} box={box} drag={drag} />
      {drag.held.value && <DragTip held={drag.held.value} box={box} />}
      <Notices store={store} drag={drag} />
    </Pane>
  );
}

function Moves({ store }: { store: Store }) {
  const [only, more] = store.selection.value;
  const loop = !more && store.shown.value.tree.find((row) => row.id === only && row.kind === "loop");
  const off = !loop && "choose one loop";
  const attrs = { tabIndex: -1 };
  return (
    <>
      <Button
        kind="quiet"
        label="↑ Outward"
        hint="Alt+Up"
        off={off}
        attrs={attrs}
        onClick={() => loop && shift(store, loop.id, false)}
      />
      <Button
        kind="quiet"
        label="↓ Inward"
        hint="Alt+Down"
        off={off}
        attrs={attrs}
        onClick={() => loop && shift(store, loop.id, true)}
      />
    </>
  );
}

function Tree({ store, box, drag }: { store: Store; box: { current: HTMLDivElement | null }; drag: Drag }) {
  const [place, setPlace] = useState<Place>({ closed: new Set(), focus: "", anchor: "" });
  const frame = store.shown.value;
  const rows = frame.tree;
  const { machine, machines } = store.head.value;
  const fit = useMemo(() => fits(frame, machines.find((m) => m.name === machine)), [frame, machine]);
  const tree = useMemo(() => outline(rows), [rows]);
  const index = useMemo(() => new Map(rows.map((row, i) => [row.id, i])), [rows]);
  const selection = store.selection.value;
  const chosen = useMemo(() => new Set(selection), [selection]);
  const held = drag.held.value;
  // While a row is carried the rows stay where they are: they are what it is aimed at.
  const preview = held?.what === "move" ? null : store.preview.value;
  const list = useMemo<Ghost[]>(() => {
    if (preview?.tree.length) return ghosts(rows, preview.tree);
    return visible(rows, tree, place.closed).map((i) => ({ row: rows[i]!, now: "kept" }));
  }, [rows, tree, place.closed, preview]);
  const here = () => box.current?.contains(document.activeElement);
  // One row is the tab stop: where the focus was last, unless another pane has chosen something else since.
  const kept = index.has(place.focus) && (here() || !selection.length || chosen.has(place.focus));
  const focus = kept ? place.focus : (selection.find((id) => index.has(id)) ?? rows[0]?.id ?? "");
  useEffect(() => {
    if (!here() && selection[0] !== undefined) rowOf(box.current, selection[0])?.scrollIntoView?.({ block: "nearest" });
  }, [selection]);
  useHover(store, box);

  const onKey = (event: KeyboardEvent): boolean => {
    const at = (event.target as HTMLElement).closest<HTMLElement>("[role=treeitem]")?.dataset.id;
    if (at === undefined) return false;
    const next = treeKey(event, store, { ...place, focus: at });
    if (next === null) return false;
    if (next !== true) {
      setPlace(next);
      if (next.focus !== at) focusRow(box.current, next.focus); // at once: the next key may come before the next frame
    }
    return true;
  };
  useKeys("tree", bindings(onKey, store));
  useEscape(held !== null, drag.cancel);

  const choose = (event: MouseEvent, id: string) => {
    const at = index.get(id)!;
    const from = index.get(place.anchor) ?? index.get(focus) ?? at;
    if (event.shiftKey) store.select(range(rows, visible(rows, tree, place.closed), from, at));
    else store.select(event.ctrlKey || event.metaKey ? toggled(selection, id) : [id]);
    setPlace({ ...place, focus: id, anchor: event.shiftKey ? place.anchor : id });
  };
  const onClick = (event: MouseEvent) => {
    const target = event.target as Element;
    const id = target.closest("[role=treeitem]")?.getAttribute("data-id");
    if (drag.ended() || id == null || !index.has(id)) return;
    if (target.closest("[data-twisty]")) setPlace({ ...place, closed: opened(place.closed, id) });
    else choose(event, id);
  };
  return (
    <div
      ref={box}
      class={`tvl-rows${held ? ` tvl-dragging-${held.what}` : ""}`}
      role="tree"
      aria-label="Schedule"
      aria-multiselectable="true"
      onClick={onClick}
      onPointerOver={(event) =>
        (store.hover.value = (event.target as Element).closest<HTMLElement>("[data-id]")?.dataset.id ?? "")
      }
      onPointerLeave={() => (store.hover.value = "")}
      onPointerDown={drag.down}
      onPointerMove={drag.move}
      onPointerUp={drag.up}
      onPointerCancel={drag.cancel}
    >
      {list.map((ghost) => {
        const { row, now } = ghost;
        const at = now === "added" ? -1 : (index.get(row.id) ?? -1);
        const inner = at >= 0 && tree.end[at]! > at + 1;
        return (
          <RowView
            key={now === "added" ? `${row.id}\n+` : row.id}
            ghost={ghost}
            open={inner ? !place.closed.has(row.id) : undefined}
            selected={at >= 0 && chosen.has(row.id)}
            focus={at >= 0 && row.id === focus}
            drop={held?.drops?.get(row.id)?.sign ?? store.lit.value?.get(row.id)}
            over={held?.over === row.id && held.row.id !== row.id}
            below={at > (index.get(held?.row.id ?? "") ?? 0)}
            held={held?.row.id === row.id}
            onto={held?.row.kind === "stage"}
            live={store.acting.value}
            fresh={row.step > 0 && row.step === store.at.value}
            fit={at >= 0 ? fit.get(row.id) : undefined}
          />
        );
      })}
      {!rows.length && <p class="tvl-empty">There are no loops yet.</p>}
    </div>
  );
}

/** What the tree waits for a person to read: a doubtful drop, or why something was refused. */
function Notices({ store, drag }: { store: Store; drag: Drag }) {
  const doubt = drag.doubt.value;
  const close = () => (drag.doubt.value = null);
  useEscape(doubt !== null, close);
  return (
    <div class="tvl-notices">
      {doubt && (
        <div class="tvl-doubt" role="group" aria-label="Could not decide">
          <p>{doubt.reason}</p>
          <div class="tvl-row">
            <Button
              kind="main"
              label="Apply anyway"
              onClick={() => {
                close();
                void store.act({ kind: "apply", act: doubt.act!, sure: true }, "tree");
              }}
            />
            <Button label="Leave it" onClick={close} />
          </div>
        </div>
      )}
      <Refusal at="tree" />
    </div>
  );
}

function bindings(run: (event: KeyboardEvent) => boolean, store: Store): Bindings {
  const all: Bindings = {
    ArrowUp: { does: "go through the loops; Left and Right close and open", run },
    "Shift+ArrowDown": { does: "extend the selection; Space adds or takes out one", run },
  };
  for (const key of ["ArrowUp", "ArrowDown", "Home", "End"]) for (const mod of ["", "Shift+", "Mod+"]) all[mod + key] ??= run;
  for (const key of ["ArrowLeft", "ArrowRight", "Space"]) all[key] = run;
  if (!store.acting.value) return all;
  all["Alt+ArrowUp"] = { does: "move the loop outward", run };
  all["Alt+ArrowDown"] = { does: "move the loop inward", run };
  all["."] = { does: "to the actions of the selection; Enter too", run };
  all["Enter"] = run;
  for (const { key, label } of store.actions.value.items) if (key) all[key] = { does: label, run };
  return all;
}

/** Marks the row of what is pointed at in another pane; without drawing all rows again. */
function useHover(store: Store, box: { current: HTMLElement | null }): void {
  const id = store.hover.value;
  useEffect(() => {
    const row = id ? rowOf(box.current, id) : undefined;
    row?.classList.add("tvl-hot");
    return () => row?.classList.remove("tvl-hot");
  }, [id]);
}

function rowOf(box: HTMLElement | null, id: string): HTMLElement | undefined {
  return Array.from(box?.querySelectorAll<HTMLElement>("[role=treeitem]") ?? []).find((row) => row.dataset.id === id);
}

function focusRow(box: HTMLElement | null, id: string): void {
  const row = rowOf(box, id);
  row?.focus({ preventScroll: true });
  row?.scrollIntoView?.({ block: "nearest" });
}
