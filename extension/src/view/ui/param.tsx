// One value that can be changed before a step is taken, or of a step that was: divisors first, anything may be typed.
import type { Choice, Param } from "../payload";
import { signTone } from "./sign";
import { equal, moved, place, read, rising, stepped } from "./values";

interface Props {
  param: Param;
  value: unknown;
  onChange: (value: unknown) => void;
  id: string;
  /** The kernel refuses the value. */
  wrong?: boolean;
  /** Factors get a slider over the divisors. */
  slider?: boolean;
}

export function ParamField(props: Props) {
  const { param, id, wrong } = props;
  const classes = `tvl-field${wrong ? " tvl-field-wrong" : ""}`;
  const inside = [<span>{param.label}</span>, <Control {...props} />];
  // A label belongs to one field only.
  return param.kind === "axes" ? (
    <div class={`${classes} tvl-axes`} role="group" aria-label={param.label}>
      {inside}
    </div>
  ) : (
    <label class={classes} for={id}>
      {inside}
    </label>
  );
}

function Control(props: Props) {
  const { param, value, onChange, id, wrong } = props;
  if (param.kind === "bool")
    return <input id={id} type="checkbox" checked={!!value} onChange={(e) => onChange(e.currentTarget.checked)} />;
  if (param.kind === "axes") return <Axes {...props} />;
  if (param.kind === "choice")
    return <Select choices={param.choices} at={place(param.choices, value)} empty="choose" onChange={onChange} id={id} />;
  if (param.kind === "text")
    return (
      <input
        id={id}
        type="text"
        aria-invalid={wrong}
        value={String(value ?? "")}
        onInput={(e) => onChange(e.currentTarget.value)}
      />
    );
  return <Stepper {...props} />;
}

interface SelectProps {
  choices: Choice[];
  at: number;
  /** Shown where nothing is chosen. */
  empty: string;
  id: string;
  onChange: (value: unknown) => void;
}

function Select({ choices, at, empty, id, onChange }: SelectProps) {
  return (
    <select
      id={id}
      aria-label={at < 0 ? empty : undefined}
      value={String(at)}
      onChange={(e) => onChange(choices[Number(e.currentTarget.value)]?.value)}
    >
      {at < 0 && <option value="-1">{empty}</option>}
      {choices.map((c, i) => (
        <option key={i} value={String(i)} disabled={c.sign === "x"} class={c.sign && `tvl-tone-${signTone(c.sign)}`}>
          {c.sign && c.sign !== "+" ? `${c.sign} ${c.label}` : c.label}
        </option>
      ))}
    </select>
  );
}

function Stepper({ param, value, onChange, id, wrong, slider }: Props) {
  const step = (up: boolean) => onChange(stepped(param, value, up));
  const stops = slider && param.kind === "factor" ? rising(param.choices) : [];
  const told = param.choices[place(param.choices, value)]?.label;
  const button = (up: boolean) => (
    <button type="button" aria-label={`${param.label}: ${up ? "larger" : "smaller"}`} tabIndex={-1} onClick={() => step(up)}>
      {up ? "+" : "−"}
    </button>
  );
  return (
    <>
      <span class="tvl-stepper">
        {button(false)}
        <input
          id={id}
          type="text"
          inputMode="numeric"
          autocomplete="off"
          aria-invalid={wrong}
          value={String(value ?? "")}
          onInput={(e) => onChange(read(e.currentTarget.value))}
          onKeyDown={(e) => {
            if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
            e.preventDefault();
            e.stopPropagation();
            step(e.key === "ArrowUp");
          }}
        />
        {button(true)}
      </span>
      {stops.length > 2 && (
        <input
          type="range"
          aria-label={`${param.label}, among the divisors`}
          aria-valuetext={String(value)}
          max={stops.length - 1}
          value={Math.max(0, stops.filter((n) => n <= Number(value)).length - 1)}
          onInput={(e) => onChange(stops[Number(e.currentTarget.value)])}
        />
      )}
      {slider && told && told !== String(value) && <small>{told}</small>}
    </>
  );
}

/** Loops in an order: move them, take one out, add one. */
function Axes({ param, value, id, onChange }: Props) {
  const chosen = Array.isArray(value) ? (value as unknown[]) : [];
  const left = param.choices.filter((c) => !chosen.some((v) => equal(v, c.value)));
  return (
    <>
      <ol>
        {chosen.map((v, i) => {
          const name = param.choices[place(param.choices, v)]?.label ?? String(v);
          const button = (sign: string, label: string, off: boolean, next: () => unknown[]) => (
            <button type="button" aria-label={`${name}: ${label}`} disabled={off} onClick={() => onChange(next())}>
              {sign}
            </button>
          );
          return (
            <li key={JSON.stringify(v)}>
              <code>{name}</code>
              {button("↑", "outward", i === 0, () => moved(chosen, i, i - 1))}
              {button("↓", "inward", i === chosen.length - 1, () => moved(chosen, i, i + 1))}
              {button("×", "leave out", false, () => chosen.filter((_, at) => at !== i))}
            </li>
          );
        })}
      </ol>
      {left.length > 0 && <Select choices={left} at={-1} empty="add a loop" id={id} onChange={(v) => onChange([...chosen, v])} />}
    </>
  );
}
