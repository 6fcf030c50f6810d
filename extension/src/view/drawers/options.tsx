import { useState } from "preact/hooks";
import type { RunOptions } from "../payload";
import { useStore } from "../store";
import { Refusal } from "../ui/refusal";

interface Row {
  name: keyof RunOptions;
  label: string;
  hint: string;
}

const NUMBERS: Row[] = [
  { name: "threads", label: "threads", hint: "0: all cores" },
  { name: "repeats", label: "repeats", hint: "how often it is timed" },
  { name: "limit", label: "limit, s", hint: "seconds until a run is ended" },
  { name: "seed", label: "seed", hint: "of the random inputs" },
  { name: "rtol", label: "tolerance", hint: "relative difference allowed by the check" },
];

/** How runs are made. A value is sent when it is left or confirmed; a refused one is said here. */
export function Options() {
  const { runs, head, act } = useStore();
  const { options } = runs.value;
  const set = (name: keyof RunOptions, value: unknown) => void act({ kind: "options", values: { [name]: value } }, "options");
  return (
    <section class="tvl-options" aria-label="Options of runs">
      <label class="tvl-field">
        <span>target</span>
        <select value={options.target} onChange={(e) => set("target", e.currentTarget.value)}>
          {head.value.targets.map((t) => (
            <option key={t.name} value={t.name} disabled={!t.available}>
              {t.available ? t.label : `${t.label}: ${t.why}`}
            </option>
          ))}
        </select>
      </label>
      {NUMBERS.map((row) => (
        <NumberField key={row.name} row={row} value={options[row.name]} onSet={(v) => set(row.name, v)} />
      ))}
      <span class="tvl-soft-text">inputs: {options.inputs}</span>
      <Refusal at="options" />
    </section>
  );
}

function NumberField({ row, value, onSet }: { row: Row; value: unknown; onSet: (value: unknown) => void }) {
  const [text, setText] = useState<string | null>(null); // while it is typed
  const send = () => {
    if (text === null) return;
    setText(null);
    const number = Number(text);
    if (text.trim() && text.trim() !== String(value)) onSet(Number.isNaN(number) ? text : number);
  };
  return (
    <label class="tvl-field" title={row.hint}>
      <span>{row.label}</span>
      <input
        type="text"
        inputMode="decimal"
        autocomplete="off"
        value={text ?? String(value)}
        onInput={(e) => setText(e.currentTarget.value)}
        onBlur={send}
        onKeyDown={(e) => e.key === "Enter" && !e.shiftKey && send()}
      />
    </label>
  );
}
