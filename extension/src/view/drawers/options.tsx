import type { RunOptions } from "../payload";
import { useStore } from "../store";
import { Refusal } from "../ui/refusal";

interface Row {
  name: keyof RunOptions;
  label: string;
  hint: string;
  /** What 0 is called. */
  zero?: string;
}

const NUMBERS: Row[] = [
  { name: "threads", label: "threads", hint: "0: all cores", zero: "all" },
  { name: "repeats", label: "repeats", hint: "how often it is timed" },
  { name: "limit", label: "limit, s", hint: "seconds until a run is ended" },
  { name: "seed", label: "seed", hint: "of the random inputs" },
  { name: "rtol", label: "tolerance", hint: "relative difference the check allows", zero: "auto" },
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
  const shown = (value === 0 && row.zero) || String(value);
  const set = (text: string) => onSet(text.trim() === row.zero ? 0 : text.trim() && !Number.isNaN(Number(text)) ? Number(text) : text);
  return (
    <label class="tvl-field" title={row.hint}>
      <span>{row.label}</span>
      {/* Another value makes another field; until then what is typed stays, whatever is drawn again around it. */}
      <input key={shown} type="text" inputMode="decimal" defaultValue={shown} onChange={(e) => set(e.currentTarget.value)} />
    </label>
  );
}
