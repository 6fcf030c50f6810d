// Acts, and the actions that they are made from.
import type { Act, Action } from "../payload";

export function changed(act: Act, name: string, value: unknown): Act {
  return { primitive: act.primitive, args: { ...act.args, [name]: value } };
}

/** The act that an action stands for before anything is changed. */
export function first(action: Action): Act {
  return action.act ?? { primitive: action.name, args: Object.fromEntries(action.params.map((p) => [p.name, p.value])) };
}

/** Text of a search matches an action by its name, label or help. */
export function matches(action: Action, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return !wanted || [action.name, action.label, action.help].some((text) => text.toLowerCase().includes(wanted));
}
