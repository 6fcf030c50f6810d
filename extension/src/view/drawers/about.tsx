import { useStore } from "../store";
import { Drawer } from "./drawer";

/** Where each kind of number comes from, and what this lab is about. */
export function AboutDrawer() {
  const { head } = useStore();
  const { name, expression, machine, machines } = head.value;
  const model = machines.find((m) => m.name === machine);
  return (
    <Drawer title="About the numbers">
      <dl class="tvl-facts">
        <dt>measured</dt>
        <dd>Timed on this machine, in a process of its own: the median of several runs, and how far they are apart.</dd>
        <dt>modelled</dt>
        <dd>
          Counted from the loops alone: arithmetic, bytes, parallel tasks and vector width. Exact where all indices are affine; else
          a bound, and it says so. Against caches of {model ? <b>{model.label}</b> : "the machine chosen above"}
          {model && model.lines.length > 0 && ` (${model.lines.join("; ")})`}.
        </dd>
        <dt>checked</dt>
        <dd>Computed and held against the unscheduled program, element by element.</dd>
        <dt>this lab</dt>
        <dd>
          {name}
          {expression.map((line) => (
            <code key={line} class="tvl-block">
              {line}
            </code>
          ))}
        </dd>
      </dl>
    </Drawer>
  );
}
