// The frame around the panes: three columns, two with tabs, or one.
import "./lab.css";
import "./ui/ui.css";
import { ActionsPane } from "./actions/pane";
import { CodePane } from "./code/pane";
import { Drawers } from "./drawers/drawers";
import { Grip } from "./grip";
import { ActionBar, Header } from "./header/header";
import { HistoryPane } from "./history/pane";
import { useLabKeys } from "./labkeys";
import { useLayout } from "./layout";
import { Messages } from "./messages";
import { PicturesPane } from "./pictures/pane";
import { useStore, type NarrowTab } from "./store";
import { TreePane } from "./tree/pane";
import { tabPanel, Tabs } from "./ui/tabs";

export function App({ root }: { root: HTMLElement }) {
  const store = useStore();
  useLayout(root, store);
  useLabKeys(root);
  const width = store.width.value;
  return (
    <>
      <Header />
      {width === "narrow" && <NarrowTabs />}
      <div class="tvl-stage">
        <div class="tvl-panes">{width === "wide" ? <Wide /> : width === "medium" ? <Medium /> : <Narrow />}</div>
        {width !== "narrow" && <HistoryPane />}
        <Drawers />
      </div>
      {width === "narrow" && <ActionBar />}
      <Messages />
      <Grip root={root} />
    </>
  );
}

const Schedule = () => (
  <div class="tvl-column">
    <TreePane />
    <ActionsPane />
  </div>
);

function Wide() {
  return (
    <>
      <Schedule />
      <CodePane />
      <PicturesPane />
    </>
  );
}

const SIDES = [
  { id: "code", label: "Code" },
  { id: "pictures", label: "Pictures" },
];

function Medium() {
  const { tab, uid } = useStore();
  const side = tab.value === "pictures" ? "pictures" : "code";
  const name = `${uid}-side`;
  return (
    <>
      <Schedule />
      <div class="tvl-side">
        <Tabs label="Code or pictures" name={name} tabs={SIDES} current={side} onPick={(id) => (tab.value = id as NarrowTab)} />
        <div class="tvl-side-panel" role="tabpanel" id={tabPanel(name)} aria-label={side}>
          {side === "code" ? <CodePane /> : <PicturesPane />}
        </div>
      </div>
    </>
  );
}

const ALL = [{ id: "schedule", label: "Schedule" }, ...SIDES, { id: "history", label: "History" }];

function NarrowTabs() {
  const { tab, uid } = useStore();
  return (
    <nav class="tvl-narrow-tabs" data-pane="tabs" aria-label="Parts of the lab">
      <Tabs label="Parts of the lab" name={`${uid}-tab`} tabs={ALL} current={tab.value} onPick={(id) => (tab.value = id as NarrowTab)} />
    </nav>
  );
}

function Narrow() {
  const { tab, uid } = useStore();
  const of = tab.value;
  return (
    <div class="tvl-side-panel" role="tabpanel" id={tabPanel(`${uid}-tab`)} aria-label={of}>
      {of === "code" ? <CodePane /> : of === "pictures" ? <PicturesPane /> : of === "history" ? <HistoryPane /> : <Schedule />}
    </div>
  );
}
