// How much one whole run of each loop touches, and the first cache that holds it: the tree's small bars.
import type { Frame, MachineInfo } from "../payload";
import { caches } from "../pictures/levels";
import { bytes } from "../ui/format";

export interface Fit {
  home: string;
  /** Of the bar, 0..1: by the level of the cache; the whole is memory. */
  part: number;
  text: string;
}

export function fits({ metrics }: Frame, machine: MachineInfo | undefined): Map<string, Fit> {
  const all = caches(machine);
  return new Map(
    metrics.levels.map((level) => {
      const found = all.findIndex((c) => level.bytes <= c.bytes);
      const at = found < 0 ? all.length : found;
      const home = all[at]?.name ?? "mem";
      const where = found < 0 ? "more than a cache holds" : `fits into ${home}`;
      const text = `one whole run of ${level.name} touches ${bytes(level.bytes)} of data: ${where} (modelled)`;
      return [level.id, { home, part: (at + 1) / (all.length + 1), text }];
    }),
  );
}
