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

/** Where a pane is entered: what it calls its home (`data-home`), its tab stop, or the pane itself. */
export function enter(pane: HTMLElement): void {
  const inside = focusable(pane);
  (inside.find((e) => "home" in e.dataset) ?? inside.find((e) => e.tabIndex >= 0) ?? inside[0] ?? pane).focus();
}

const panesOf = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>("[data-pane]")].filter(isShown);

export function cyclePanes(root: HTMLElement, by: 1 | -1): void {
  const panes = panesOf(root);
  if (!panes.length) return;
  const at = panes.findIndex((p) => p.contains(root.ownerDocument.activeElement));
  enter(panes[(at + by + panes.length) % panes.length]!);
}

export function goTo(root: HTMLElement, pane: string): void {
  const found = panesOf(root).find((p) => p.dataset.pane === pane);
  if (found) enter(found);
}

/** Where an arrow, Home or End leads from place `at` of `n`, along an axis; null: nowhere. */
export function nextOf(key: string, at: number, n: number, axis: "x" | "y"): number | null {
  const [back, on] = axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  if (key === on) return (at + 1) % n;
  if (key === back) return (at - 1 + n) % n;
  if (key === "Home") return 0;
  return key === "End" ? n - 1 : null;
}

/** One tab stop for all controls in a bar; arrows go from one to the next. */
export function useRoving(box: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const root = box.current;
    if (!root) return;
    let stop: HTMLElement | undefined;
    const set = () => {
      const all = focusable(root);
      if (!stop || !all.includes(stop)) stop = all[0];
      for (const e of all) e.tabIndex = e === stop ? 0 : -1;
    };
    const entered = (event: FocusEvent) => {
      stop = event.target as HTMLElement;
      set();
    };
    const moved = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isTyping(event.target as HTMLElement)) return;
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      const all = focusable(root);
      const to = nextOf(event.key, all.indexOf(event.target as HTMLElement), all.length, "x");
      if (to === null) return;
      event.preventDefault();
      all[to]?.focus();
    };
    set();
    const watch = new MutationObserver(set);
    watch.observe(root, { childList: true, subtree: true });
    return both([() => watch.disconnect(), listen(root, "focusin", entered), listen(root, "keydown", moved)]);
  }, [box]);
}

function listen<K extends keyof HTMLElementEventMap>(to: HTMLElement, kind: K, heard: (event: HTMLElementEventMap[K]) => void): () => void {
  to.addEventListener(kind, heard);
  return () => to.removeEventListener(kind, heard);
}

const both = (stops: (() => void)[]) => () => stops.forEach((stop) => stop());

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
    const same = id ? root.ownerDocument.getElementById(id) : null;
    if (same && root.contains(same)) return same.focus();
    const panes = panesOf(root);
    const home = panes.find((p) => p.dataset.pane === pane) ?? panes[0];
    if (home) enter(home);
  };
  const watch = new MutationObserver(restore);
  watch.observe(root, { childList: true, subtree: true });
  return both([() => watch.disconnect(), listen(root, "focusin", entered), listen(root, "focusout", () => void left())]);
}
