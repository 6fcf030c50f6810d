// An action with its values open, ready to be applied.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Act, Action, Card, Preview } from "../payload";
import { Button } from "../ui/button";
import { CardView } from "../ui/card";
import { ParamField } from "../ui/param";
import { useEscape } from "../keys";
import { Deltas } from "./deltas";
import { changed } from "./values";

interface Props {
  action: Action;
  act: Act;
  /** What the kernel says of the act as it is now; null: not yet. */
  verdict: { sign: Action["sign"]; reason: string; card: Card | null } | null;
  preview: Preview | null;
  id: string;
  onChange: (act: Act) => void;
  onApply: (act: Act, sure: boolean) => void;
  onClose: () => void;
}

export function Form({ action, act, verdict, preview, id, onChange, onApply, onClose }: Props) {
  const form = useRef<HTMLFormElement>(null);
  useEscape(true, onClose);
  useLayoutEffect(() => {
    const field = form.current?.querySelector<HTMLElement>("select, input, button:not(:disabled, [tabindex])");
    field?.focus();
    if (field instanceof HTMLInputElement && field.type === "text") field.select();
  }, []);
  const sign = verdict?.sign ?? action.sign;
  const reason = verdict?.reason ?? action.reason;
  const unsure = sign === "?";
  return (
    <form
      ref={form}
      class="tvl-form"
      onSubmit={(e) => {
        e.preventDefault();
        if (sign !== "x") onApply(act, unsure);
      }}
      onKeyDown={(e) => {
        if (e.key !== "Enter" || e.shiftKey || e.ctrlKey || e.metaKey || e.target instanceof HTMLButtonElement) return;
        e.preventDefault();
        e.stopPropagation();
        if (sign !== "x" && !(unsure && !verdict)) onApply(act, unsure);
      }}
    >
      {action.params.map((param, i) => (
        <ParamField
          key={param.name}
          param={param}
          id={`${id}-${i}`}
          value={act.args[param.name] ?? param.value}
          wrong={sign === "x"}
          slider
          onChange={(value) => onChange(changed(act, param.name, value))}
        />
      ))}
      <div aria-live="polite">
        {sign === "x" && verdict?.card ? (
          <CardView card={verdict.card} onMove={(move) => onApply(move.act, false)} />
        ) : (
          sign !== "+" &&
          reason && <p class={`tvl-reason tvl-tone-${sign === "x" ? "illegal" : unsure ? "unknown" : "noeffect"}`}>{reason}</p>
        )}
      </div>
      <div class="tvl-row">
        <Button
          kind="main"
          label={unsure ? "Apply anyway" : "Apply"}
          hint="Enter"
          off={sign === "x" && (reason || "not legal")}
          onClick={() => onApply(act, unsure)}
        />
        <Button label="Cancel" hint="Esc" onClick={onClose} />
      </div>
      {preview && sign !== "x" && <Deltas deltas={preview.deltas} />}
      {sign !== "x" && action.owes.length > 0 && <p class="tvl-soft-text">Then still to do: {action.owes.join("; ")}</p>}
    </form>
  );
}
