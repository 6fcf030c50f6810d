// The film strip as data: one card per step, and the steps of a folded recipe as one.
import type { History, StepInfo } from "../payload";

export interface Card {
  /** Cursor that a click on it leads to. */
  at: number;
  /** First and last step (1, 2, ...) of it; both 0: the start. */
  from: number;
  to: number;
  label: string;
  steps: StepInfo[];
  /** Of a recipe's steps: its id, and whether this card stands for all of them. */
  group: string;
  folded: boolean;
  /** The first card of an unfolded recipe. */
  heads: boolean;
}

/** A recipe is folded unless it was opened, or the cursor stands in the middle of it. */
export function cards(history: History, cursor: number, open: ReadonlySet<string>): Card[] {
  const { steps } = history;
  const out: Card[] = [];
  const add = (from: number, to: number, label: string, group = "", more: Partial<Card> = {}) =>
    out.push({ at: to, from, to, label, steps: steps.slice(Math.max(0, from - 1), to), group, folded: false, heads: false, ...more });
  add(0, 0, "start");
  for (let i = 0; i < steps.length; ) {
    const { group } = steps[i]!;
    let end = i + 1;
    while (group && end < steps.length && steps[end]!.group === group) end += 1;
    const many = end > i + 1;
    const inside = cursor > i && cursor < end;
    if (many && !open.has(group) && !inside) add(i + 1, end, groupName(group), group, { folded: true });
    else for (let n = i + 1; n <= end; n++) add(n, n, steps[n - 1]!.name || steps[n - 1]!.label, group, { heads: many && n === i + 1 });
    i = end;
  }
  return out;
}

/** "recipe:tile-for-cache#2" is said as "tile for cache". */
export function groupName(group: string): string {
  const name = group.replace(/^recipe[: ]+/, "").replace(/[#@].*$/, "").replace(/[-_]+/g, " ").trim();
  return name || "recipe";
}
