// What a drag would do, at the pointer.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Held } from "./drag";

export function DragTip({ held }: { held: Held }) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = (tip.current?.offsetParent ?? tip.current?.parentElement)?.getBoundingClientRect();
    if (!tip.current || !box) return;
    const left = Math.min(held.x - box.left + 14, box.width - tip.current.offsetWidth - 4);
    tip.current.style.left = `${Math.max(4, left)}px`;
    tip.current.style.top = `${held.y - box.top + 16}px`;
  });
  const { sign, text } = told(held);
  return (
    <div ref={tip} class={`tv-tip tv-tip-${sign}`} aria-hidden="true">
      {text}
    </div>
  );
}

function told(held: Held): { sign: string; text: string } {
  if (held.what === "split") {
    if (!held.snap) return { sign: "same", text: `${held.row.name}: drag to the left to split` };
    return { sign: held.snap.tail ? "perhaps" : "yes", text: held.snap.text + (held.snap.tail ? " · tail" : "") };
  }
  const name = held.row.name;
  if (!held.drops) return { sign: "same", text: `${name} …` };
  const drop = held.drops.get(held.over);
  if (held.over === held.row.id || !held.over) return { sign: "same", text: name };
  if (!drop) return { sign: "no", text: `× ${name} cannot go here` };
  if (drop.sign === "+") return { sign: "yes", text: `+ ${drop.reason || name}` };
  if (drop.sign === "?") return { sign: "perhaps", text: `? ${drop.reason}` };
  return { sign: drop.sign === "x" ? "no" : "same", text: `${drop.sign === "x" ? "×" : "="} ${drop.reason}` };
}
