// What the loops are compared with.
import type { Store } from "../store";
import { Menu, type Item } from "../ui/menu";
import type { Base } from "./sources";

export function BaseMenu({ store, base, onPick }: { store: Store; base: Base; onPick: (base: Base) => void }) {
  const { steps } = store.history.value;
  const pinned = store.runs.value.rows.some((run) => run.pinned);
  const items: Item[] = [
    { id: "none", label: "Nothing", checked: base === "none" },
    { id: "previous", label: "The step before", checked: base === "previous" },
    { id: "pinned", label: "The pinned schedule", checked: base === "pinned", off: pinned ? undefined : "nothing is pinned" },
    { id: "0", label: "The start", checked: base === 0 },
    ...steps.map((step, i) => ({
      id: String(i + 1),
      label: `Step ${i + 1}: ${step.name || step.label}`,
      checked: base === i + 1,
    })),
  ];
  const label = base === "none" ? "Diff" : `Diff: ${baseName(store, base)}`;
  return (
    <Menu
      label={label}
      name="Compare the loops with"
      hint="d"
      items={items}
      onPick={(id) => onPick(/^\d+$/.test(id) ? Number(id) : (id as Base))}
    />
  );
}

export function baseName(store: Store, base: Base): string {
  if (base === "pinned") return "with the pinned schedule";
  const step = base === "previous" ? Math.max(0, store.at.value - 1) : base;
  return step === 0 ? "with the start" : `with step ${step}`;
}

export function nextBase(store: Store, base: Base): Base {
  if (base === "none") return "previous";
  return base === "previous" && store.runs.value.rows.some((run) => run.pinned) ? "pinned" : "none";
}
