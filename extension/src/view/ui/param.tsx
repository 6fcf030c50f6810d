// One value that can be changed before a step is taken, or of a step that was: divisors first, anything may be typed.
import type { Choice, Param } from "../payload";
import { signTone } from "./sign";

interface Props {
  param: Param;
  value: unknown;
  onChange: (value: unknown) => void;
  id: string;
  /** What the kernel said of the value. */
  wrong?: string;
}

export function ParamField({ param, value, onChange, id, wrong }: Props) {
  return (
    <label class={`tvl-field ${wrong ? "tvl-field-wrong" : ""}`} for={id}>
      <span>{param.label}</span>
      <Control param={param} value={value} onChange={onChange} id={id} />
    </label>
  );
}

function Control({ param, value, onChange, id }: Omit<Props, "wrong">) {
  if (param.kind === "bool")
    return <input id={id} type="checkbox" checked={!!value} onChange={(e) => onChange(e.currentTarget.checked)} />;
  if (param.kind === "choice" || param.kind === "axes")
    return <Select choices={param.choices} value={value} onChange={onChange} id={id} />;
  if (param.kind === "text")
    return (
      <input id={id} type="text" value={String(value ?? "")} onInput={(e) => onChange(e.currentTarget.value)} />
    );
  return <Stepper param={param} value={value} onChange={onChange} id={id} />;
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

function Select({ choices, value, onChange, id }: { choices: Choice[] } & Omit<Props, "wrong" | "param">) {
  const at = choices.findIndex((c) => same(c.value, value));
  return (
    <select id={id} value={String(at)} onChange={(e) => onChange(choices[Number(e.currentTarget.value)]?.value)}>
      {at < 0 && <option value="-1">choose</option>}
      {choices.map((c, i) => (
        <option key={i} value={String(i)} disabled={c.sign === "x"} class={c.sign ? `tvl-tone-${signTone(c.sign)}` : ""}>
          {c.sign && c.sign !== "+" ? `${c.sign} ${c.label}` : c.label}
        </option>
      ))}
    </select>
  );
}

/** The next smaller or larger of the offered values; where there is none, one less or more. */
export function nextValue(value: number, offered: number[], by: 1 | -1): number {
  const sorted = [...offered].sort((a, b) => a - b);
  const found = by > 0 ? sorted.find((v) => v > value) : sorted.filter((v) => v < value).at(-1);
  return found ?? value + by;
}

function Stepper({ param, value, onChange, id }: Omit<Props, "wrong">) {
  const offered = param.choices.map((c) => c.value).filter((v): v is number => typeof v === "number");
  const number = Number(value);
  const step = (by: 1 | -1) => {
    const to = nextValue(Number.isFinite(number) ? number : (offered[0] ?? 1), offered, by);
    onChange(Math.max(param.least ?? -Infinity, Math.min(param.most ?? Infinity, to)));
  };
  return (
    <span class="tvl-stepper">
      <button type="button" aria-label={`${param.label}: smaller`} tabIndex={-1} onClick={() => step(-1)}>
        −
      </button>
      <input
        id={id}
        type="text"
        inputMode="numeric"
        autocomplete="off"
        value={String(value ?? "")}
        onInput={(e) => onChange(read(e.currentTarget.value))}
        onKeyDown={(e) => {
          if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
          e.preventDefault();
          e.stopPropagation();
          step(e.key === "ArrowUp" ? 1 : -1);
        }}
      />
      <button type="button" aria-label={`${param.label}: larger`} tabIndex={-1} onClick={() => step(1)}>
        +
      </button>
    </span>
  );
}

/** A whole number where one was typed; else the text, which the kernel refuses with its own words. */
export function read(text: string): unknown {
  return /^\s*[-+]?\d+\s*$/.test(text) ? Number(text) : text;
}
