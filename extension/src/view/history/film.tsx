// The film strip: a listbox with one tab stop. Arrows travel in time, Enter edits, Down and Up unfold and fold a recipe.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../keys";
import type { Worth } from "../payload";
import { moveStep } from "../do";
import { useStore } from "../store";
import { seconds } from "../ui/format";
import { cards, type Card } from "./strip";

export function Film({ onEdit }: { onEdit: () => void }) {
  const store = useStore();
  const { history, at, jump, uid, runs, acting, act } = store;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const box = useRef<HTMLDivElement>(null);
  const all = cards(history.value, at.value, open);
  const now = all.findIndex((c) => c.at >= at.value);
  const current = all[now]!;
  const worth = new Map(runs.value.ablation.map((w) => [w.id, w]));
  const id = (card: Card | undefined) => `${uid}-step-${card?.at ?? 0}`;
  const go = (to: number) => all[to] && void jump(all[to]!.at);
  const fold = (group: string, unfold: boolean) => {
    const next = new Set(open);
    if (unfold) next.add(group);
    else next.delete(group);
    setOpen(next);
  };
  /** Keys of the strip only where the strip has the focus, not a button beside it. */
  const here = (run: () => unknown) => (event: KeyboardEvent) => (event.target === box.current ? void run() : false);
  const step = current.folded ? undefined : current.steps[0];
  useKeys("history", {
    ArrowLeft: { does: "go through the steps; Down and Up unfold and fold a recipe", run: here(() => go(now - 1)) },
    ArrowRight: here(() => go(now + 1)),
    Home: here(() => go(0)),
    End: here(() => go(all.length - 1)),
    ArrowDown: here(() => current.folded && fold(current.group, true)),
    ArrowUp: here(() => current.group && foldAway(current)),
    Enter: { does: "edit this step", run: here(() => acting.value && at.value > 0 && onEdit()) },
    "Alt+ArrowLeft": { does: "move this step earlier; Right: later", run: here(() => moveStep(store, -1)) },
    "Alt+ArrowRight": here(() => moveStep(store, 1)),
    Delete: { does: "delete this step", run: here(() => step && acting.value && act({ kind: "delete", step: step.id }, "history")) },
  });
  function foldAway(card: Card) {
    const end = history.value.steps.reduce((last, s, i) => (s.group === card.group ? i + 1 : last), 0);
    fold(card.group, false);
    if (at.value !== end) void jump(end);
  }
  useLayoutEffect(() => {
    const strip = box.current;
    const element = strip?.querySelector<HTMLElement>("[aria-current]");
    // Only the strip scrolls, never the notebook.
    if (element) strip!.scrollLeft = element.offsetLeft + (element.offsetWidth - strip!.clientWidth) / 2;
  }, [at.value, all.length]);
  return (
    <div
      class="tvl-film"
      role="listbox"
      aria-label="Steps"
      aria-orientation="horizontal"
      tabIndex={0}
      data-home
      aria-activedescendant={id(current)}
      ref={box}
    >
      {all.map((card) => (
        <Frame
          key={`${card.from} ${card.to}`}
          card={card}
          id={id(card)}
          at={at.value}
          worth={card.folded ? undefined : worth.get(card.steps[0]?.id ?? "")}
          start={history.value.start_seconds}
          onPick={() => void jump(card.at)}
          onEdit={onEdit}
          onFold={() => (card.folded ? fold(card.group, true) : foldAway(card))}
        />
      ))}
    </div>
  );
}

interface FrameProps {
  card: Card;
  id: string;
  at: number;
  worth: Worth | undefined;
  start: number | null;
  onPick: () => void;
  onEdit: () => void;
  onFold: () => void;
}

function Frame({ card, id, at, worth, start, onPick, onEdit, onFold }: FrameProps) {
  const step = card.steps.at(-1);
  const time = card.at === 0 ? start : (step?.seconds ?? null);
  const status = card.steps.some((s) => s.status === "parked") ? "parked" : !card.folded && step?.status === "same" ? "same" : "ok";
  const here = at >= card.from && at <= card.to;
  const range = card.from === card.to ? String(card.at) : `${card.from}–${card.to}`;
  const reason = card.steps.find((s) => s.status !== "ok")?.reason ?? "";
  const origin = step && !card.folded && step.origin.kind !== "widget" ? step.origin.label : "";
  return (
    <div
      role="option"
      id={id}
      class={`tvl-frame tvl-frame-${status} ${at < card.from ? "tvl-frame-later" : ""} ${card.group ? "tvl-frame-group" : ""}`}
      aria-selected={here}
      aria-current={here ? "step" : undefined}
      title={[step?.code, origin, reason, step?.note].filter(Boolean).join("\n")}
      onClick={onPick}
      onDblClick={onEdit}
    >
      <span class="tvl-frame-top">
        <i>
          <span class="tvl-hidden">step </span>
          {range}
        </i>
        <b>{card.label}</b>
        {status === "same" && <em class="tvl-tone-noeffect">=</em>}
        {status === "parked" && <em class="tvl-tone-unknown">parked</em>}
        {reason && <span class="tvl-hidden">: {reason}</span>}
        {(card.folded || card.heads) && (
          <span
            class="tvl-fold"
            aria-hidden="true"
            title={card.folded ? "Unfold (↓)" : "Fold (↑)"}
            onClick={(event) => {
              event.stopPropagation();
              onFold();
            }}
          >
            {card.folded ? `▸ ${card.steps.length}` : "◂"}
          </span>
        )}
      </span>
      <small>
        {time !== null ? <b title="measured">{seconds(time)}</b> : <span>{origin || (card.folded ? "recipe" : " ")}</span>}
        {worth && <span class="tvl-tone-accent"> {worth.text}</span>}
      </small>
    </div>
  );
}
