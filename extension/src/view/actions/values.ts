// What a person types or chooses becomes the value of an argument. What makes no sense is sent all the same: the
// kernel's verdict says why in its place.
import type { Act, Action, Choice, Param } from "../payload";

export function typed(text: string): unknown {
  const number = Number(text.trim());
  return text.trim() === "" || !Number.isFinite(number) ? text.trim() : number;
}

export function changed(act: Act, name: string, value: unknown): Act {
  return { primitive: act.primitive, args: { ...act.args, [name]: value } };
}

/** The act that an action stands for before anything is changed. */
export function first(action: Action): Act {
  return action.act ?? { primitive: action.name, args: Object.fromEntries(action.params.map((p) => [p.name, p.value])) };
}

export function equal(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function place(choices: Choice[], value: unknown): number {
  return choices.findIndex((choice) => equal(choice.value, value));
}

/** The divisors: the offered values up to where they stop rising (the rest have a tail). */
export function rising(choices: Choice[]): number[] {
  const values = choices.map((c) => c.value).filter((v): v is number => typeof v === "number");
  const end = values.findIndex((v, i) => i > 0 && v <= values[i - 1]!);
  return end < 0 ? values : values.slice(0, end);
}

/** The next smaller or larger value: of a factor, the divisors that are offered, then half or twice. */
export function stepped(param: Param, value: unknown, up: boolean): number {
  const stops = param.kind === "factor" ? rising(param.choices) : [];
  const now = Number(value);
  if (!Number.isFinite(now)) return stops[0] ?? param.least ?? 1;
  const next = up ? stops.find((n) => n > now) : stops.filter((n) => n < now).pop();
  if (next !== undefined) return next;
  if (!stops.length) return within(param, now + (up ? 1 : -1));
  return within(param, up ? now * 2 : Math.max(1, Math.floor(now / 2)));
}

function within(param: Param, n: number): number {
  return Math.min(param.most ?? Infinity, Math.max(param.least ?? -Infinity, n));
}

export function moved<T>(list: T[], at: number, to: number): T[] {
  if (to < 0 || to >= list.length) return list;
  const next = [...list];
  next.splice(to, 0, ...next.splice(at, 1));
  return next;
}

/** Text of a search matches an action by its name, label, key or help. */
export function matches(action: Action, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return !wanted || [action.name, action.label, action.help].some((text) => text.toLowerCase().includes(wanted));
}
