// The passes of lowering in order: how long each took, and which of them changed the program.
import type { Pass } from "../payload";

interface Props {
  passes: Pass[];
  at: number;
  stale: boolean;
  id: string;
  onPick: (at: number) => void;
}

export function PassList({ passes, at, stale, id, onPick }: Props) {
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
