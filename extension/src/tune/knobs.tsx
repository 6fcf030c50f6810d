// The choices of the space, in words: the text twin of brushing an axis.
import { useState } from "preact/hooks";
import { useSession } from "./context";
import { LAST } from "./session";
import type { Knob } from "./payload";

const FEW = 16; // values shown before one asks for the others

export function Knobs({ knobs, size }: { knobs: Knob[]; size: string }) {
  if (!knobs.length) return null;
  return (
    <>
      <h3>Values to search</h3>
      {knobs.map((knob) => (
        <Chips key={knob.id} knob={knob} />
      ))}
      {size && <p class="tvn-size">{size}</p>}
    </>
  );
}

function Chips({ knob }: { knob: Knob }) {
  const { allow, toggle, kept } = useSession();
  const [all, setAll] = useState(false);
  const { id, label, values, on, current, help } = knob;
  const some = on.length < values.length;
  const shown = all || values.length <= FEW + 4 ? values : values.slice(0, FEW);
  return (
    <fieldset class="tvn-knob">
      <legend>
        {label}{" "}
        <small>
          {some ? `${on.length} of ${values.length}` : `all ${values.length}`}
        </small>
        {some && (
          <button type="button" class="tvl-link" aria-label={`All values of ${label}`} onClick={() => void allow(id, places(values))}>
            all
          </button>
        )}
      </legend>
      {help && <p class="tvn-help">{help}</p>}
      <div class="tvn-chips">
        {shown.map((value, i) => (
          <button
            type="button"
            key={i}
            class={`tvn-chip${i === current ? " tvn-now" : ""}`}
            aria-pressed={on.includes(i)}
            title={i === current ? "the value that the schedule has now" : undefined}
            onClick={() => toggle(knob, i)}
          >
            {value}
          </button>
        ))}
        {shown.length < values.length && (
          <button type="button" class="tvl-link" onClick={() => setAll(true)}>
            {values.length - shown.length} more
          </button>
        )}
      </div>
      {kept.value === id && <p class="tvl-tone-unknown">{LAST}</p>}
    </fieldset>
  );
}

export const places = (values: unknown[]): number[] => values.map((_, i) => i);
