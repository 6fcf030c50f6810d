// How the space is searched, for how long, and where the trials are kept.
import { useStore } from "../view/store";
import { useSession } from "./context";
import type { TuneState } from "./payload";
import { isGoing } from "./session";
import { Workers } from "./workers";

export function Settings({ now }: { now: TuneState }) {
  const { tell } = useSession();
  const { uid } = useStore();
  const set = (name: string, value: unknown) => void tell("settings", { [name]: value }, "knobs");
  const fixed = isGoing(now);
  const search = now.searches.find((s) => s.name === now.search);
  return (
    <>
      <h3>How</h3>
      <div class="tvn-settings">
        <label for={`${uid}-tune-search`}>search</label>
        <select
          id={`${uid}-tune-search`}
          value={now.search}
          disabled={fixed}
          title={search?.why || search?.label}
          onChange={(e) => set("search", e.currentTarget.value)}
        >
          {now.searches.map((s) => (
            <option key={s.name} value={s.name} disabled={!s.available}>
              {s.available ? s.label : `${s.label}: ${s.why}`}
            </option>
          ))}
        </select>
        <Number name="trials" label="trials" value={now.trials} onSet={set} />
        <Number name="limit" label="seconds" value={now.limit} onSet={set} />
        <label for={`${uid}-tune-file`}>file</label>
        <input
          key={now.file}
          id={`${uid}-tune-file`}
          type="text"
          defaultValue={now.file}
          placeholder="none: in memory only"
          disabled={fixed}
          spellcheck={false}
          onChange={(e) => set("file", e.currentTarget.value.trim())}
        />
        <label for={`${uid}-tune-fleet`}>on</label>
        <input
          key={now.fleet}
          id={`${uid}-tune-fleet`}
          type="text"
          defaultValue={now.fleet}
          placeholder="this machine"
          title="Where it measures: empty is this machine; the address of a scheduler of dask.distributed, tcp://host:8786, is its workers"
          disabled={fixed}
          spellcheck={false}
          onChange={(e) => set("fleet", e.currentTarget.value.trim())}
        />
      </div>
      <Workers of={now.workers} />
    </>
  );
}

interface NumberProps {
  name: "trials" | "limit";
  label: string;
  value: number | null;
  onSet: (name: string, value: unknown) => void;
}

/** Empty: no limit. What is no number is sent all the same: the kernel says why not. */
function Number({ name, label, value, onSet }: NumberProps) {
  const { uid } = useStore();
  const id = `${uid}-tune-${name}`;
  return (
    <>
      <label for={id}>{label}</label>
      <input
        key={String(value)}
        id={id}
        type="text"
        inputMode="decimal"
        defaultValue={value === null ? "" : String(value)}
        placeholder="no limit"
        onChange={(e) => onSet(name, read(e.currentTarget.value))}
      />
    </>
  );
}

function read(text: string): unknown {
  const trimmed = text.trim();
  if (!trimmed) return null;
  const number = globalThis.Number(trimmed);
  return isNaN(number) ? trimmed : number;
}
