// Keys that work wherever the focus is inside the lab.
import { cyclePanes, focusable } from "./focus";
import { isGoing } from "./header/run";
import { ANY, useEscape, useKeys } from "./keys";
import { useDo } from "./do";
import { useStore } from "./store";

export function useLabKeys(root: HTMLElement): void {
  const store = useStore();
  const lab = useDo();
  const { drawer, at, history, refused, runs, act, acting } = store;
  useEscape(acting.value && runs.value.rows.some(isGoing), () => void act({ kind: "cancel", what: "" }, "header"));
  useEscape(refused.value !== null, () => (refused.value = null));
  useKeys(ANY, {
    "[": { does: "the step before; ] the next", run: () => void store.jump(at.value - 1) },
    "]": () => void store.jump(at.value + 1),
    "{": { does: "the start; } the last step", run: () => void store.jump(0) },
    "}": () => void store.jump(history.value.steps.length),
    "Mod+z": { does: "undo", run: lab.undo },
    "Mod+Shift+z": { does: "redo", run: lab.redo },
    "Mod+Enter": { does: "run", run: lab.run },
    x: { does: "pin for comparing", run: lab.pin },
    y: { does: "copy the code of the steps", run: lab.copyCode },
    T: { does: "tune the values of the steps", run: () => acting.value && (drawer.value = "tune") && true },
    "/": { does: "search", run: () => search(root) },
    "?": { does: "this list of keys", run: () => void (drawer.value = drawer.value === "keys" ? "" : "keys") },
    F6: { does: "the next part of the lab; Shift+F6 the one before", run: () => cyclePanes(root, 1) },
    "Shift+F6": () => cyclePanes(root, -1),
  });
}

/** The search field (`data-search`) of the pane with the focus, else the first one there is. */
function search(root: HTMLElement): boolean {
  const pane = root.ownerDocument.activeElement?.closest("[data-pane]");
  const find = (of: ParentNode | null | undefined) => of && focusable(of).find((e) => "search" in e.dataset);
  const field = find(pane) || find(root);
  if (field instanceof HTMLInputElement) field.select();
  field?.focus();
  return !!field;
}
