import "./drawers.css";
import { useStore } from "../store";
import { AboutDrawer } from "./about";
import { CompareDrawer } from "./compare";
import { ExportDrawer } from "./export";
import { KeysDrawer } from "./keys";
import { LegalityDrawer } from "./legality";
import { RunsDrawer } from "./runs";
import { TuneDrawer } from "./tune";
import { WorkloadDrawer } from "./workload";

const DRAWERS = {
  workload: WorkloadDrawer,
  runs: RunsDrawer,
  compare: CompareDrawer,
  keys: KeysDrawer,
  legality: LegalityDrawer,
  export: ExportDrawer,
  about: AboutDrawer,
  tune: TuneDrawer,
};

export function Drawers() {
  const { drawer } = useStore();
  const Open = drawer.value && DRAWERS[drawer.value];
  return Open ? <Open key={drawer.value} /> : null;
}
