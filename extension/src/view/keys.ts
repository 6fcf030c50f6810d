// Who gets a key: the innermost thing that waits for Esc, the pane with the focus, the lab, or the notebook.
//
// While focus is inside, keys without Ctrl, Cmd or Alt stay inside (else `b` would add a cell); Shift+Enter and chords
// that nobody here uses pass to the notebook. Text being typed is never taken for a command.
//
// JupyterLab listens where events end (bubbling); Notebook 7 on the document before the lab hears anything (capture).
// So `guard` marks what has the focus ahead of both, for each key anew: no shortcut counts from the mark on upwards.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useStore } from "./store";

/** Return false to say: not mine after all. */
export type Handler = (event: KeyboardEvent) => void | boolean;
/** `does`: what the list of keys says. A bare function is not listed. */
export type Binding = Handler | { does: string; run: Handler };
/** By chord: "s", "?", "Space", "ArrowUp", "Shift+ArrowUp", "Alt+ArrowUp", "Mod+Enter" (Ctrl or Cmd), "Mod+Shift+z". */
export type Bindings = Record<string, Binding>;

export interface Listed {
  pane: string;
  chord: string;
  does: string;
}

export const ANY = "any";

export interface Keys {
  bind(pane: string, bindings: () => Bindings): () => void;
  /** Esc calls the last of these that is still there. */
  onEscape(close: () => void): () => void;
  list(): Listed[];
  handle(event: KeyboardEvent, root: HTMLElement): void;
  /** Whether a key is the lab's, before anything has heard it. */
  keeps(event: KeyboardEvent): boolean;
}

/** `single`: whether letters and signs alone act; a person may turn them off. */
export function makeKeys(single: () => boolean = () => true): Keys {
  const bound: { pane: string; bindings: () => Bindings }[] = [];
  const closers: { close: () => void }[] = [];

  /** What a chord may do here, the newest binding of the pane first; each may still say no. */
  function uses(event: KeyboardEvent, chord: string): Handler[] {
    const target = origin(event);
    if (isTyping(target) && !chord.startsWith("Mod+") && !/F\d+$/.test(chord)) return [];
    if (isTyping(target) && /^Mod\+(Shift\+)?[a-z]$/.test(chord)) return []; // undo, copy ... of the text itself
    if (!single() && isSingle(event)) return [];
    const pane = target.closest<HTMLElement>("[data-pane]")?.dataset.pane ?? "";
    return [pane, ANY].flatMap((name) => of(name, chord));
  }

  function of(pane: string, chord: string): Handler[] {
    return [...bound].reverse().flatMap((b) => {
      const all = b.pane === pane ? b.bindings() : {};
      const binding = Object.hasOwn(all, chord) ? all[chord]! : [];
      return "run" in binding ? binding.run : binding;
    });
  }

  function escape(event: KeyboardEvent, root: HTMLElement): void {
    const last = closers.at(-1);
    if (!last) return leave(root); // and the notebook hears Esc too
    stop(event);
    last.close();
  }

  return {
    bind: (pane, bindings) => added(bound, { pane, bindings }),
    onEscape: (close) => added(closers, { close }),
    list: () =>
      bound.flatMap(({ pane, bindings }) =>
        Object.entries(bindings()).flatMap(([chord, b]) => (typeof b === "object" ? [{ pane, chord, does: b.does }] : [])),
      ),
    handle(event, root) {
      if (event.isComposing) return;
      // A component that used a key says so by preventing its default: it needs to do no more than that.
      if (event.defaultPrevented) return event.stopPropagation();
      const chord = chordOf(event);
      if (chord === "Escape") return escape(event, root);
      if (uses(event, chord).some((run) => run(event) !== false)) stop(event);
      else if (staysInside(event)) event.stopPropagation();
    },
    keeps(event) {
      const chord = chordOf(event);
      if (chord === "Escape") return closers.length > 0;
      return event.isComposing || staysInside(event) || uses(event, chord).length > 0;
    },
  };
}

function added<T>(list: T[], item: T): () => void {
  list.push(item);
  return () => void list.splice(list.indexOf(item), 1);
}

function stop(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

/** "Mod+Shift+z", "Alt+ArrowUp", "?": Shift is said only where the key itself does not show it. */
export function chordOf(event: KeyboardEvent): string {
  const { key } = event;
  const mod = event.ctrlKey || event.metaKey;
  const plain = key.length === 1 && !mod && !event.altKey;
  const name = key === " " ? "Space" : plain ? key : key.length === 1 ? key.toLowerCase() : key;
  const shift = event.shiftKey && !(plain && key !== " ");
  return (mod ? "Mod+" : "") + (event.altKey ? "Alt+" : "") + (shift ? "Shift+" : "") + name;
}

/** A letter or sign without Ctrl, Cmd or Alt. */
function isSingle(event: KeyboardEvent): boolean {
  return event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
}

const NOT_TEXT = new Set(["checkbox", "radio", "range", "button", "submit", "reset", "color", "file"]);

export function isTyping(target: HTMLElement): boolean {
  if (target.isContentEditable || target.tagName === "TEXTAREA" || target.tagName === "SELECT") return true;
  return target.tagName === "INPUT" && !NOT_TEXT.has((target as HTMLInputElement).type);
}

function staysInside(event: KeyboardEvent): boolean {
  // A chord in a text field is about the text: the notebook must not undo or paste cells.
  if (event.ctrlKey || event.metaKey || event.altKey) return isTyping(origin(event)) && /^[acvxyz]$/i.test(event.key);
  return !(event.key === "Enter" && event.shiftKey) && !/^F\d+$/.test(event.key);
}

/** Where a key was pressed; from outside a shadow root `target` is only its host. */
const origin = (event: Event) => (event.composedPath()[0] ?? event.target) as HTMLElement;

const MARK = "data-lm-suppress-shortcuts";

/** Has the dispatcher of JupyterLab and Notebook leave alone what is the lab's, and hear the rest. Returns how to stop. */
export function guard(root: HTMLElement, keys: Keys): () => void {
  const view = root.ownerDocument.defaultView!;
  let marked: Element | undefined;
  const clear = () => marked?.removeAttribute(MARK);
  const heard = (event: KeyboardEvent) => {
    clear();
    if (!event.composedPath().includes(root) || !keys.keeps(event)) return;
    // Not the root: a shortcut of "any :focus in a notebook" counts for the very element that has the focus.
    marked = event.target as Element;
    marked.setAttribute(MARK, "true");
  };
  view.addEventListener("keydown", heard, true);
  return () => {
    view.removeEventListener("keydown", heard, true);
    clear();
  };
}

/** Gives the focus back to the cell. */
export function leave(root: HTMLElement): void {
  const active = (root.getRootNode() as Document | ShadowRoot).activeElement;
  if (active instanceof HTMLElement) active.blur();
  const cell = root.parentElement?.closest<HTMLElement>(".jp-Cell, [tabindex]");
  cell?.focus({ preventScroll: true });
}

/** Keys of a pane while it is on screen; of pane "any": wherever the focus is. */
export function useKeys(pane: string, bindings: Bindings): void {
  const { keys } = useStore();
  const latest = useRef(bindings);
  latest.current = bindings;
  useEffect(() => keys.bind(pane, () => latest.current), [keys, pane]);
}

/** Esc closes this while it is open. */
export function useEscape(open: boolean, close: () => void): void {
  const { keys } = useStore();
  const latest = useRef(close);
  latest.current = close;
  useLayoutEffect(() => (open ? keys.onEscape(() => latest.current()) : undefined), [keys, open]);
}
