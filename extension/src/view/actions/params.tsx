// The values of an action, changed in its place.
import type { Choice, Param } from "../payload";
import { ParamField } from "../ui/param";
import { equal, moved, place, rising, stepped, typed } from "./values";

interface Props {
  param: Param;
  value: unknown;
  id: string;
  wrong: boolean;
  onChange: (value: unknown) => void;
}

export function Value(props: Props) {
  if (props.param.kind === "factor" || props.param.kind === "int") return <Factor {...props} />;
  if (props.param.kind === "axes") return <Axes {...props} />;
  const { param, value, id, wrong, onChange } = props;
  return <ParamField param={param} value={value} onChange={onChange} id={id} wrong={wrong ? "wrong" : ""} />;
}

/** A field for anything, steps to the next divisor, and a slider over the divisors. */
function Factor({ param, value, id, wrong, onChange }: Props) {
  const stops = param.kind === "factor" ? rising(param.choices) : [];
  const step = (up: boolean) => onChange(stepped(param, value, up));
  const near = stops.filter((n) => n <= Number(value)).length - 1;
  const told = param.choices.find((c) => equal(c.value, value))?.label;
  return (
    <div class={`tvl-factor${wrong ? " tvl-field-wrong" : ""}`}>
      <label for={id}>{param.label}</label>
      <span class="tvl-stepper">
        <button type="button" aria-label={`${param.label}: smaller`} tabIndex={-1} onClick={() => step(false)}>
          −
        </button>
        <input
          id={id}
          type="text"
          inputMode="numeric"
          autocomplete="off"
          spellcheck={false}
          data-first
          aria-invalid={wrong}
          value={String(value ?? "")}
          onInput={(e) => onChange(typed(e.currentTarget.value))}
          onKeyDown={(e) => {
            if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
            e.preventDefault();
            e.stopPropagation();
            step(e.key === "ArrowUp");
          }}
        />
        <button type="button" aria-label={`${param.label}: larger`} tabIndex={-1} onClick={() => step(true)}>
          +
        </button>
      </span>
      {stops.length > 2 && (
        <input
          type="range"
          aria-label={`${param.label}, among the divisors`}
          aria-valuetext={String(value)}
          min={0}
          max={stops.length - 1}
          value={Math.max(0, near)}
          onInput={(e) => onChange(stops[Number(e.currentTarget.value)])}
        />
      )}
      {told && told !== String(value) && <small class="tvl-soft-text">{told}</small>}
    </div>
  );
}

/** Loops in an order: move them, take one out, add one. */
function Axes({ param, value, id, onChange }: Props) {
  const chosen = Array.isArray(value) ? (value as unknown[]) : [];
  const left = param.choices.filter((c) => !chosen.some((v) => equal(v, c.value)));
  const name = (v: unknown) => param.choices[place(param.choices, v)]?.label ?? plain(v);
  return (
    <div class="tvl-axes" role="group" aria-label={param.label}>
      <span>{param.label}, outermost first</span>
      <ol>
        {chosen.map((v, i) => (
          <li key={JSON.stringify(v)}>
            <code>{name(v)}</code>
            <button type="button" data-first={i === 0 || undefined} aria-label={`${name(v)}: outward`} disabled={i === 0} onClick={() => onChange(moved(chosen, i, i - 1))}>
              ↑
            </button>
            <button type="button" aria-label={`${name(v)}: inward`} disabled={i === chosen.length - 1} onClick={() => onChange(moved(chosen, i, i + 1))}>
              ↓
            </button>
            <button type="button" aria-label={`leave ${name(v)} out`} onClick={() => onChange(chosen.filter((_, at) => at !== i))}>
              ×
            </button>
          </li>
        ))}
      </ol>
      {left.length > 0 && <Add id={id} choices={left} onAdd={(v) => onChange([...chosen, v])} />}
    </div>
  );
}

function Add({ id, choices, onAdd }: { id: string; choices: Choice[]; onAdd: (value: unknown) => void }) {
  return (
    <select id={id} aria-label="add a loop" value="-1" data-first onChange={(e) => onAdd(choices[Number(e.currentTarget.value)]?.value)}>
      <option value="-1">add a loop …</option>
      {choices.map((c, i) => (
        <option key={c.label} value={String(i)}>
          {c.label}
        </option>
      ))}
    </select>
  );
}

function plain(value: unknown): string {
  return typeof value === "object" && value !== null ? Object.values(value).join(" ") : String(value);
}
