// What is open under an action, and what happens when one is started, explained or applied.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { enter } from "../focus";
import type { Act, Action } from "../payload";
import type { Store } from "../store";
import { first } from "./values";

/** Where an action was started, and where the focus returns. */
export type From = "tree" | "actions";

export interface Open {
  name: string;
  /** "why": the card; "form": the values. */
  what: "why" | "form";
  act: Act;
  from: From;
  /** The schedule and the selection that it is about. */
  of: string;
}

export interface Opening {
  open: Open | null;
  start(action: Action, from: From): void;
  why(action: Action): void;
  change(act: Act): void;
  apply(name: string, act: Act, sure: boolean): Promise<void>;
  close(): void;
}

/** `focus` goes to an action of the list. `fresh`: the list is the one of the selection. */
export function useOpening(
  store: Store,
  pane: { current: HTMLElement | null },
  fresh: boolean,
  focus: (name: string) => void,
): Opening {
  const [open, setOpen] = useState<Open | null>(null);
  const { ids, frame } = store.actions.value;
  const of = `${frame} ${ids}`;
  useLayoutEffect(() => {
    // The same list may come again, after that of a loop that was only passed by.
    if (fresh && open?.of !== of) setOpen(null);
  }, [of, fresh]);
  useEffect(() => {
    // What opens is to be seen whole, if there is room.
    pane.current?.querySelector(".tvl-open")?.scrollIntoView?.({ block: "nearest" });
  }, [open?.name, open?.what]);

  const back = (name: string, from: From) => {
    setOpen(null);
    const tree = from === "tree" && pane.current?.closest(".tvl")?.querySelector<HTMLElement>("[role=tree]");
    if (tree) enter(tree);
    else focus(name);
  };
  const show = (action: Action, what: Open["what"], from: From) =>
    setOpen(open?.name === action.name && open.what === what ? null : { name: action.name, what, act: first(action), from, of });
  const take = async (name: string, act: Act, sure: boolean, from: From) => {
    if (await store.act(sure ? { kind: "apply", act, sure } : { kind: "apply", act }, name)) back(name, from);
  };
  return {
    open,
    start(action, from) {
      const { name, sign, params, card, label, reason, word } = action;
      if (sign === "+" && !params.length) return void take(name, first(action), false, from);
      if (sign !== "x" && (sign !== "=" || params.length)) return show(action, "form", from);
      if (!card) store.said.value = `${label}: ${reason || word}`;
      if (from === "tree") focus(name);
      show(action, "why", from);
    },
    why: (action) => show(action, "why", "actions"),
    change: (act) => open && setOpen({ ...open, act }),
    apply: (name, act, sure) => take(name, act, sure, open?.from ?? "actions"),
    close: () => open && back(open.name, open.from),
  };
}

/** Starts what was asked for elsewhere as soon as the list is the one of the selection. */
export function useWanted(store: Store, fresh: boolean, start: (key: string, from: From) => void): void {
  const wanted = store.wanted.value;
  useLayoutEffect(() => {
    if (!wanted || !fresh) return;
    store.wanted.value = null;
    start(wanted.key, wanted.from);
  }, [wanted, fresh]);
}
