// The passes of lowering in order: how long each took, which of them changed the program, and what.
import { useMemo, useState } from "preact/hooks";
import type { Pass } from "../payload";
import type { Store } from "../store";
import { Button } from "../ui/button";
import { CardView } from "../ui/card";
import { Spinner } from "../ui/spinner";
import { Body } from "./body";
import { difference } from "./rows";
import { usePasses } from "./sources";

export function Passes({ store }: { store: Store }) {
  const { passes, card, stale } = usePasses(store);
  const [chosen, setChosen] = useState(0);
  const [only, setOnly] = useState(true);
  const at = Math.min(chosen, passes.length - 1);
  const pass = passes[at];
  const diff = useMemo(() => (only && at > 0 && pass ? difference(passes[at - 1]!.lines, pass.lines) : null), [passes, at, only]);
  if (!pass)
    return card ? (
      <CardView card={card} />
    ) : stale ? (
      <p class="tvl-empty">
        <Spinner label="on its way" />
      </p>
    ) : (
      <p class="tvl-empty">There are no passes to show.</p>
    );
  return (
    <>
      <PassList passes={passes} at={at} stale={stale} onPick={setChosen} id={`${store.uid}-passes`} />
      <Body
        store={store}
        kind="passes"
        lines={pass.lines}
        diff={diff}
        label={diff ? `what ${pass.name} changed` : ""}
        preview={false}
        stale={false}
        tools={<Button kind="quiet" label="Changes" pressed={only} hint="what the pass changed" onClick={() => setOnly(!only)} />}
      />
    </>
  );
}

interface Props {
  passes: Pass[];
  at: number;
  stale: boolean;
  id: string;
  onPick: (at: number) => void;
}

function PassList({ passes, at, stale, id, onPick }: Props) {
  const most = Math.max(...passes.map((pass) => pass.ms), 0.001);
  const go = (event: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: passes.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    onPick(Math.max(0, Math.min(to, passes.length - 1)));
  };
  return (
    <div
      class={`tvl-passes${stale ? " tvl-stale-text" : ""}`}
      role="listbox"
      aria-label="Passes"
      aria-activedescendant={`${id}-${at}`}
      tabIndex={0}
      onKeyDown={go}
    >
      {passes.map((pass, i) => (
        <div
          key={i}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === at}
          class={`tvl-pass${pass.changed ? "" : " tvl-pass-same"}`}
          onClick={() => onPick(i)}
        >
          <b aria-hidden="true">{pass.changed ? "~" : "="}</b>
          <span>
            {pass.name}
            <span class="tvl-hidden">{pass.changed ? ", changed the program" : ", changed nothing"}</span>
          </span>
          <i aria-hidden="true" style={{ "--share": pass.ms / most }} />
          <small>{pass.ms < 0.01 ? "<0.01" : pass.ms.toFixed(2)} ms</small>
        </div>
      ))}
    </div>
  );
}
