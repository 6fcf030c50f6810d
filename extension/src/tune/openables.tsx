// Which values of the steps are searched, or whether the steps are left aside.
import { useStore } from "../view/store";
import { plural } from "../view/ui/format";
import { useSession } from "./context";
import type { Openable, TuneState } from "./payload";
import { isGoing } from "./session";

const SOURCES = [
  { id: "steps", label: "values of the steps" },
  { id: "generic", label: "the whole expression" },
];

export function Openables({ now }: { now: TuneState }) {
  const { tell } = useSession();
  const { uid } = useStore();
  const { source, openable } = now;
  const fixed = isGoing(now) || now.state === "paused";
  return (
    <>
      <fieldset class="tvn-source" disabled={fixed}>
        <legend>Search</legend>
        {SOURCES.map(({ id, label }) => (
          <label key={id}>
            <input
              type="radio"
              name={`${uid}-tune-source`}
              checked={source === id}
              onChange={() => void tell("source", { source: id }, "knobs")}
            />
            {label}
          </label>
        ))}
      </fieldset>
      {source === "generic" ? (
        <p class="tvn-note">A schedule is made anew from the expression: the steps are left aside until a trial is adopted.</p>
      ) : openable.length ? (
        <ul class="tvn-openables" aria-label="Values of the steps that may be tuned">
          {openable.map((one) => (
            <Open key={`${one.step} ${one.param}`} one={one} fixed={fixed} />
          ))}
        </ul>
      ) : (
        <p class="tvn-note">No step has a value that could be tuned. Split or tile a loop first, or search the whole expression.</p>
      )}
    </>
  );
}

function Open({ one, fixed }: { one: Openable; fixed: boolean }) {
  const { tell } = useSession();
  const { step, param, label, now, open, count, why } = one;
  return (
    <li>
      <label>
        <input
          type="checkbox"
          checked={open}
          disabled={fixed || (!!why && !open)}
          onChange={() => void tell(open ? "close" : "open", { step, param }, "knobs")}
        />
        <span>{label}</span>
        <code title={now}>{now}</code>
        {!why && <small>{plural(count, "value")}</small>}
      </label>
      {why && <small>{why}</small>}
    </li>
  );
}
