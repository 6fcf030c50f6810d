import { useStore } from "../store";
import { Drawer } from "./drawer";

/** Where each kind of number comes from, and what this lab is about. */
export function AboutDrawer() {
  const { head } = useStore();
  const { machine, machines } = head.value;
  const model = machines.find((m) => m.name === machine);
  return (
    <Drawer title="About the numbers">
      <dl class="tvl-facts">
        <dt>measured</dt>
        <dd>Timed on this machine: the median of several runs.</dd>
        <dt>modelled</dt>
        <dd>
          Counted from the loops alone; exact where all indices are affine, else a bound.
          {model && ` Caches are those of ${model.label}: ${model.lines.join("; ")}.`}
        </dd>
        <dt>checked</dt>
        <dd>Held against the unscheduled program, element by element.</dd>
      </dl>
    </Drawer>
  );
}
