// The four ways to look at what was measured.
import { useState } from "preact/hooks";
import { useStore } from "../view/store";
import { recall, remember } from "../view/ui/remember";
import { tabPanel, Tabs } from "../view/ui/tabs";
import { Landscape } from "./landscape";
import { Model } from "./model";
import { Parallel } from "./parallel";
import type { TuneState } from "./payload";
import { Progress } from "./progress";

const TABS = [
  { id: "progress", label: "Progress", title: "Every trial, and the best so far" },
  { id: "landscape", label: "Landscape", title: "The best time for each pair of two values" },
  { id: "parallel", label: "Parallel", title: "Which values go with which time; pick the values to search" },
  { id: "model", label: "Model", title: "How well the times are predicted" },
];
const PLOTS = { progress: Progress, landscape: Landscape, parallel: Parallel, model: Model };

export function Plots({ now }: { now: TuneState }) {
  const { uid } = useStore();
  const [tab, setTab] = useState(recall("tune") ?? "progress");
  const Plot = PLOTS[tab as keyof typeof PLOTS] ?? Progress;
  const pick = (id: string) => {
    setTab(id);
    remember("tune", id);
  };
  const name = `${uid}-tune`;
  return (
    <>
      <Tabs label="Plots" name={name} tabs={TABS} current={tab} onPick={pick} />
      <div role="tabpanel" id={tabPanel(name)} aria-label={tab} class="tvn-plot-panel">
        <Plot now={now} />
      </div>
    </>
  );
}
