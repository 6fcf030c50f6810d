import { useEffect, useRef } from "preact/hooks";
import { useStore } from "../store";
import { CardView } from "./card";

/** The refusal of what was asked for at this place, if there is one. */
export function Refusal({ at }: { at: string }) {
  const { refused, act } = useStore();
  const box = useRef<HTMLDivElement>(null);
  const mine = refused.value?.where === at ? refused.value : null;
  useEffect(() => box.current?.scrollIntoView?.({ block: "nearest" }), [mine]); // under a long form it is out of sight
  if (!mine) return null;
  return (
    <div ref={box}>
      <CardView card={mine.card} onMove={(move) => void act({ kind: "apply", act: move.act }, at)} onClose={() => (refused.value = null)} />
    </div>
  );
}
