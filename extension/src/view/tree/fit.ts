// How much one run of each loop touches, and the first cache that holds it: the tree's small bars.
import type { Frame, MachineInfo } from "../payload";
import { caches, scale } from "../pictures/levels";
import { bytes } from "../ui/format";

export interface Fit {
  home: string;
  /** Of the bar, 0..1: by its logarithm, the whole is what the whole program touches or the largest cache. */
  part: number;
  text: string;
}

export function fits({ metrics }: Frame, machine: MachineInfo | undefined): Map<string, Fit> {
  const sizes = caches(machine);
  const to = scale(Math.max(...[...metrics.levels, ...sizes].map((x) => x.bytes), 2));
  return new Map(
    metrics.levels.map((level) => {
      const cache = sizes.find((c) => level.bytes <= c.bytes)?.name;
      const where = cache ? `fits into ${cache}` : "more than a cache holds";
      const text = `one run of ${level.name} touches ${bytes(level.bytes)}: ${where} (modelled)`;
      return [level.id, { home: cache ?? "mem", part: to(level.bytes), text }];
    }),
  );
}
