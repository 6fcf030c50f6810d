// What a drag would do, at the pointer.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Held } from "./drag";

export function DragTip({ held, box }: { held: Held; box: { current: HTMLElement | null } }) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const body = box.current?.parentElement;
    if (!tip.current || !body) return;
    const { left, top } = body.getBoundingClientRect();
    const x = Math.min(held.x - left + 14, body.clientWidth - tip.current.offsetWidth - 4);
    tip.current.style.left = `${Math.max(4, x)}px`;
    // Below the pointer, or above it where there is no room.
    const below = held.y - top + 16;
    const high = tip.current.offsetHeight;
    const y = below + high < body.clientHeight ? below : held.y - top - high - 8;
    tip.current.style.top = `${Math.max(0, y) + body.scrollTop}px`;
  });
  const { sign, text } = told(held);
  return (
    <div ref={tip} class={`tvl-tip tvl-t-drop-${sign}`} aria-hidden="true">
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
