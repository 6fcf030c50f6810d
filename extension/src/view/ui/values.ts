// What a person types or chooses becomes the value of an argument. What makes no sense is sent all the same: the
// kernel's verdict says why in its place.
import type { Choice, Param } from "../payload";

/** A whole number where one was typed ("1e9" too); else the text. */
export function read(text: string): unknown {
  const number = /^\s*[-+]?\d+(e\d+)?\s*$/i.test(text) ? Number(text) : NaN;
  return Number.isFinite(number) ? number : text.trim();
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
  const other = stops.length ? (up ? now * 2 : Math.max(1, Math.floor(now / 2))) : now + (up ? 1 : -1);
  return next ?? Math.min(param.most ?? Infinity, Math.max(param.least ?? -Infinity, other));
}

export function moved<T>(list: T[], at: number, to: number): T[] {
  const next = [...list];
  next.splice(to, 0, ...next.splice(at, 1));
  return next;
}
