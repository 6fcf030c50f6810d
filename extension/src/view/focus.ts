// Focus: one tab stop per pane with arrows inside, round the panes with F6, and never lost when what had it goes away.
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { isTyping } from "./keys";

const CAN = "button, [href], input, select, textarea, summary, [tabindex]";

export function focusable(root: ParentNode): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>(CAN)].filter((e) => !("disabled" in e && e.disabled) && isShown(e));
}

function isShown(element: HTMLElement): boolean {
  return element.checkVisibility?.() ?? true;
}

/** Where a pane is entered: its tab stop, else the pane itself. */
export function enter(pane: HTMLElement): void {
  const inside = focusable(pane);
  (inside.find((e) => e.tabIndex >= 0) ?? inside[0] ?? pane).focus();
}

export function cyclePanes(root: HTMLElement, by: 1 | -1): void {
  const panes = [...root.querySelectorAll<HTMLElement>("[data-pane]")].filter(isShown);
  if (!panes.length) return;
  const at = panes.findIndex((p) => p.contains(root.ownerDocument.activeElement));
  enter(panes[(at + by + panes.length) % panes.length]!);
}

export function goTo(root: HTMLElement, pane: string): void {
  const found = [...root.querySelectorAll<HTMLElement>("[data-pane]")].find((p) => p.dataset.pane === pane);
  if (found) enter(found);
}

/**
 * One tab stop for all controls in a box; arrows go from one to the next. For bars of buttons; trees and lists that
 * have their own pattern do it themselves.
 */
export function useRoving(box: RefObject<HTMLElement | null>, axis: "x" | "y" | "both" = "x"): void {
  useEffect(() => {
    const root = box.current;
    if (!root) return;
    let stop: HTMLElement | null = null;
    const set = () => {
      const all = focusable(root);
      if (!stop || !all.includes(stop)) stop = all[0] ?? null;
      for (const e of all) if ((e === stop) !== (e.tabIndex === 0)) e.tabIndex = e === stop ? 0 : -1;
    };
    const entered = (event: FocusEvent) => {
      stop = event.target as HTMLElement;
      set();
    };
    const moved = (event: KeyboardEvent) => {
      const by = step(event, axis);
      if (by === null) return;
      const all = focusable(root);
      const at = all.indexOf(event.target as HTMLElement);
      const to = by === "first" ? 0 : by === "last" ? all.length - 1 : (at + by + all.length) % all.length;
      event.preventDefault();
      event.stopPropagation();
      all[to]?.focus();
    };
    set();
    const watch = new MutationObserver(set);
    watch.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
    root.addEventListener("focusin", entered);
    root.addEventListener("keydown", moved);
    return () => {
      watch.disconnect();
      root.removeEventListener("focusin", entered);
      root.removeEventListener("keydown", moved);
    };
  }, [box, axis]);
}

function step(event: KeyboardEvent, axis: string): number | "first" | "last" | null {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.defaultPrevented) return null;
  if (isTyping(event.target as HTMLElement) || (event.target as HTMLInputElement).type === "range") return null;
  if (event.key === "Home") return "first";
  if (event.key === "End") return "last";
  if (axis !== "y" && event.key === "ArrowRight") return 1;
  if (axis !== "y" && event.key === "ArrowLeft") return -1;
  if (axis !== "x" && event.key === "ArrowDown") return 1;
  if (axis !== "x" && event.key === "ArrowUp") return -1;
  return null;
}

/** When an update takes the focused element away, its successor (same id), its pane, or the lab gets the focus. */
export function keepFocus(root: HTMLElement): () => void {
  let last: { element: HTMLElement; id: string; pane: string } | null = null;
  const active = () => (root.getRootNode() as Document | ShadowRoot).activeElement;
  const entered = (event: FocusEvent) => {
    const element = event.target as HTMLElement;
    last = { element, id: element.id, pane: element.closest<HTMLElement>("[data-pane]")?.dataset.pane ?? "" };
  };
  const left = () =>
    // An element that is being removed also says that it loses the focus: look once the update is over.
    setTimeout(() => {
      if (last?.element.isConnected && !root.contains(active())) last = null;
    });
  const restore = () => {
    if (!last || last.element.isConnected) return;
    const { id, pane } = last;
    last = null;
    const now = active();
    if (now && now !== root.ownerDocument.body && now !== root) return;
    const same = id ? root.querySelector<HTMLElement>(`#${CSS.escape(id)}`) : null;
    if (same) return same.focus();
    const panes = [...root.querySelectorAll<HTMLElement>("[data-pane]")].filter(isShown);
    const home = panes.find((p) => p.dataset.pane === pane) ?? panes[0];
    if (home) enter(home);
  };
  const watch = new MutationObserver(restore);
  watch.observe(root, { childList: true, subtree: true });
  root.addEventListener("focusin", entered);
  root.addEventListener("focusout", left);
  return () => {
    watch.disconnect();
    root.removeEventListener("focusin", entered);
    root.removeEventListener("focusout", left);
  };
}
