// The frame around the panes.
import { ActionsPane } from "./actions/pane";
import { CodePane } from "./code/pane";
import { Drawers } from "./drawers/drawers";
import { Header } from "./header/header";
import { HistoryPane } from "./history/pane";
import { Messages } from "./messages";
import { PicturesPane } from "./pictures/pane";
import { TreePane } from "./tree/pane";

export function App({ root }: { root: HTMLElement }) {
  void root;
  return (
    <>
      <Header />
      <TreePane />
      <ActionsPane />
      <CodePane />
      <PicturesPane />
      <HistoryPane />
      <Messages />
      <Drawers />
    </>
  );
}
