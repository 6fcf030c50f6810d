// The metrics picture as numbers: how much each loop's body touches, against the caches of the machine.
import type { MachineInfo, Metrics, Table } from "../payload";
import { bytes, count, times } from "../ui/format";

export interface Cache {
  name: string;
  bytes: number;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** The caches that a machine's lines speak of: "L1 48 KiB". */
export function caches(machine: MachineInfo | undefined): Cache[] {
  return (machine?.lines ?? []).flatMap((line) => {
    const found = /\b(L[1-4]|shared)\b[^0-9\n]*([\d.,]+)\s*([KMGT]?i?B)\b/i.exec(line);
    if (!found) return [];
    const unit = UNITS.findIndex((u) => u[0]!.toUpperCase() === found[3]![0]!.toUpperCase());
    return [{ name: found[1]!, bytes: Number(found[2]!.replace(/,/g, "")) * 1024 ** Math.max(0, unit) }];
  });
}

/** Where a number of bytes lies between the ends of the chart, by its logarithm, 0..1. */
export function scale(most: number): (value: number) => number {
  const top = Math.log2(Math.max(most, 2));
  return (value) => Math.max(0, Math.min(1, Math.log2(Math.max(value, 1)) / top));
}

/** The text twin. */
export function metricsTable(metrics: Metrics): Table {
  return {
    title: `Bytes per loop${metrics.exact ? "" : ", at most"} (modelled)`,
    head: ["loop", "footprint", "moved"],
    rows: metrics.levels.map((level) => [level.name, bytes(level.bytes), bytes(level.moved)]),
    ids: metrics.levels.map((level) => level.id),
  };
}

export function facts(metrics: Metrics): [string, string][] {
  const moved = metrics.read === null || metrics.written === null ? null : metrics.read + metrics.written;
  const arithmetic =
    metrics.redundancy !== null && metrics.redundancy > 1.001 ? ` (${times(metrics.redundancy)} of the least)` : "";
  return [
    ["arithmetic", metrics.flops === null ? "–" : `${count(metrics.flops)} operations${arithmetic}`],
    ["bytes moved", bytes(moved)],
    ["distinct bytes", bytes(metrics.unique)],
    ["operations per byte", metrics.flops === null || !metrics.unique ? "–" : (metrics.flops / metrics.unique).toFixed(1)],
    ["parallel tasks", metrics.tasks === null ? "–" : String(metrics.tasks)],
    ["vector width", metrics.lanes === null ? "–" : String(metrics.lanes)],
  ];
}
