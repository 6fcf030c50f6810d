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
  const out: Card[] = [{ at: 0, from: 0, to: 0, label: "start", steps: [], group: "", folded: false, heads: false }];
  for (let i = 0; i < steps.length; ) {
    const group = steps[i]!.group;
    let end = i + 1;
    while (group && end < steps.length && steps[end]!.group === group) end += 1;
    const parts = steps.slice(i, end);
    const inside = cursor > i && cursor < end;
    if (group && parts.length > 1 && !open.has(group) && !inside)
      out.push({ at: end, from: i + 1, to: end, label: groupName(group), steps: parts, group, folded: true, heads: false });
    else parts.forEach((step, j) => out.push({ at: i + j + 1, from: i + j + 1, to: i + j + 1, label: step.name || step.label, steps: [step], group, folded: false, heads: !!group && j === 0 && parts.length > 1 }));
    i = end;
  }
  return out;
}

/** "recipe:tile-for-cache#2" is said as "tile for cache". */
export function groupName(group: string): string {
  const name = group.replace(/^recipe[: ]+/, "").replace(/[#@].*$/, "").replace(/[-_]+/g, " ").trim();
  return name || "recipe";
}
