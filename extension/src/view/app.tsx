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
import { tabPanel, Tabs, type Tab } from "./ui/tabs";

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

function Schedule() {
  return (
    <div class="tvl-column">
      <TreePane />
      <ActionsPane />
    </div>
  );
}

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
const ALL = [{ id: "schedule", label: "Schedule" }, ...SIDES, { id: "history", label: "History" }];
const SHOWN = { schedule: Schedule, code: CodePane, pictures: PicturesPane, history: HistoryPane };

function Medium() {
  const { tab } = useStore();
  const side = tab.value === "pictures" ? "pictures" : "code";
  return (
    <>
      <Schedule />
      <div class="tvl-side">
        <Parts tabs={SIDES} current={side} />
        <Part of={side} />
      </div>
    </>
  );
}

const NarrowTabs = () => (
  <nav class="tvl-narrow-tabs" data-pane="tabs" aria-label="Parts of the lab">
    <Parts tabs={ALL} current={useStore().tab.value} />
  </nav>
);

const Narrow = () => <Part of={useStore().tab.value} />;

function Parts({ tabs, current }: { tabs: Tab[]; current: string }) {
  const { tab, uid } = useStore();
  return <Tabs label="Parts of the lab" name={uid} tabs={tabs} current={current} onPick={(id) => (tab.value = id as NarrowTab)} />;
}

function Part({ of }: { of: NarrowTab }) {
  const Shown = SHOWN[of];
  return (
    <div class="tvl-side-panel" role="tabpanel" id={tabPanel(useStore().uid)} aria-label={of}>
      <Shown />
    </div>
  );
}
