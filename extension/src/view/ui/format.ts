// Numbers for people. Every number is shown with its unit; bytes by 1024, arithmetic by 1000.

const NONE = "–";
const plain = (digits: number) => new Intl.NumberFormat("en", { maximumSignificantDigits: digits });

function scaled(value: number, base: number, units: string[], digits: number): string {
  const shown = (v: number) => (v >= 100 ? Math.round(v) : Number(v.toPrecision(digits)));
  let at = 0;
  let left = value;
  // 1023.9 KiB is shown as 1024: then it is 1 MiB.
  while (shown(left) >= base && at < units.length - 1) {
    left /= base;
    at += 1;
  }
  const text = shown(left).toLocaleString("en");
  return units[at] ? `${text} ${units[at]}` : text;
}

export function bytes(value: number | null | undefined): string {
  return usable(value) ? scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 3) : NONE;
}

/** Counts: 268 M. */
export function count(value: number | null | undefined): string {
  return usable(value) ? scaled(value, 1000, ["", "k", "M", "G", "T", "P"], 3) : NONE;
}

export function gflops(value: number | null | undefined): string {
  return usable(value) ? `${plain(3).format(value)} GFLOP/s` : NONE;
}

export function seconds(value: number | null | undefined): string {
  if (!usable(value)) return NONE;
  if (value >= 60) return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
  if (value >= 0.9995) return `${plain(3).format(value)} s`;
  return scaled(value * 1e9, 1000, ["ns", "µs", "ms"], 3);
}

/** "±2 %" of a middle value, where that says something. */
export function spread(range: number | null | undefined, middle: number | null | undefined): string {
  if (!usable(range) || !usable(middle) || middle <= 0) return "";
  return range > middle / 2 ? "unsteady" : `±${plain(2).format((range / 2 / middle) * 100)} %`;
}

export function times(value: number | null | undefined): string {
  return usable(value) ? `${plain(3).format(value)}×` : NONE;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

function usable(value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
