// Tuning is a module of its own: asked for when it is first opened, and kept with the store.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Module } from "../payload";
import { useStore, type Store } from "../store";
import { Refusal } from "../ui/refusal";
import { Spinner } from "../ui/spinner";
import { Drawer } from "./drawer";

/** What the module has: it draws into the element, and returns how to stop. */
export interface Tuner {
  open(element: HTMLElement, store: Store, css: string): () => void;
  css: string;
}

async function load(store: Store): Promise<Tuner | null> {
  const { data, card } = await store.ask({ kind: "module", what: "tune" });
  if (card) store.refused.value = { where: "tune", card };
  if (!data) return null;
  const { js, css } = data as Module;
  const url = URL.createObjectURL(new Blob([js], { type: "text/javascript" }));
  return { ...(await import(/* @vite-ignore */ /* webpackIgnore: true */ url)), css };
}

export function TuneDrawer() {
  const store = useStore();
  const box = useRef<HTMLDivElement>(null);
  const [ready, setReady] = useState(false);
  useEffect(() => {
    let stop: (() => void) | null | undefined;
    void (store.tuner ??= load(store)).then((tuner) => {
      setReady(true);
      if (!tuner) store.tuner = undefined; // the next time it is asked for again
      if (stop === undefined && tuner) stop = tuner.open(box.current!, store, tuner.css);
    });
    return () => {
      stop?.();
      stop = null;
    };
  }, []);
  return (
    <Drawer title="Tune" size="large">
      <Refusal at="tune" />
      {!ready && <Spinner label="loading" />}
      <div ref={box} />
    </Drawer>
  );
}
