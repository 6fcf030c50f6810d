// What the action pointed at, or the open form, would do: asked for, shown by all panes, and gone when nobody points.
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Act, Action, Card, Preview, Reply } from "../payload";
import type { Store } from "../store";
import { latest } from "./latest";

export interface Verdict {
  act: Act;
  sign: Action["sign"];
  reason: string;
  card: Card | null;
}

const REST = 24; // ms that the pointer or the focus must rest on an action, or a value stay: the whole preview has 100

/** Keeps `store.preview` at what an alternative of a card would do, else `action`, else at what the act of the open form would; and what the kernel says of it. */
export function usePreview(store: Store, typed: Act | null, action: Action | null): Verdict | null {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const asked = useMemo(() => {
    const answered = (reply: Reply, act: Act) => {
      const preview = reply.ok ? (reply.data as Preview | null) : null;
      const card = preview?.card ?? reply.card;
      if (act !== store.instead.value) setVerdict({ act, sign: preview?.sign ?? "x", reason: preview?.reason ?? card?.text ?? "", card });
      store.preview.value = preview && preview.sign !== "x" ? { ...preview, act } : null;
    };
    return latest((act: Act) => store.ask({ kind: "preview", act }), answered);
  }, [store]);
  const instead = store.instead.value;
  const act = instead ?? (action ? (action.sign === "x" ? null : action.act) : typed);
  const text = act ? JSON.stringify(act) : "";
  const frame = store.shown.value.key;
  const clear = () => {
    asked.drop();
    store.preview.value = null;
  };
  useLayoutEffect(() => {
    // The time to rest begins now, not when this is painted.
    if (!act) return clear();
    // While a value slides, answers to the values before are shown too; of another action they are not.
    if (action || instead) asked.drop();
    asked.ask(act, REST);
  }, [text, frame, !action, !instead]);
  useLayoutEffect(() => clear, [frame]);
  return verdict;
}
