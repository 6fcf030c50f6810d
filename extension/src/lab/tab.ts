// A lab in a tab of its own: a second view of the same model, beside the notebook.
import type { ILayoutRestorer, JupyterFrontEnd } from "@jupyterlab/application";
import { MainAreaWidget, WidgetTracker } from "@jupyterlab/apputils";
import { PathExt } from "@jupyterlab/coreutils";
import { Panel, Widget } from "@lumino/widgets";
import { labIcon } from "./icon";
import type { ILabs } from "./labs";
import { isAlive, liveView } from "./live";
import { commands } from "./names";
import { stillCopy } from "./outputs";
import { showDocument } from "./still";

/** Where the lab of a tab is: enough to find it again after a reload. */
export interface Where {
  path: string; // of the notebook
  model: string; // of the widget
  name: string; // of the lab
}

class LabPanel extends Panel {
  private shown = "";
  private drawn: () => void = () => {};
  private looking = false;

  constructor(readonly where: Where, private readonly labs: ILabs) {
    super();
    this.addClass("tvx-tab");
    this.id = `tvmlab-${where.path}-${where.model}`;
    this.title.icon = labIcon;
    this.title.label = `${where.name} (${PathExt.basename(where.path)})`;
    this.title.caption = `${where.name} of ${where.path}`;
    this.title.closable = true;
    labs.changed.connect(this.look, this);
    void this.look();
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.labs.changed.disconnect(this.look, this);
    this.drawn();
    super.dispose();
  }

  /** Live where the kernel has the model, else the still copy of the notebook, else how to get there. */
  private async look(): Promise<void> {
    if (this.looking || this.isDisposed || this.shown === "live") return;
    this.looking = true;
    const { path, model, name } = this.where;
    const notebook = this.labs.panelOf(path);
    await notebook?.context.ready;
    const alive = notebook ? await isAlive(notebook, model) : false;
    this.looking = false;
    if (this.isDisposed) return;
    if (alive) return this.change("live", async (page) => void page.addWidget(await liveView(notebook!, model)));
    const copy = notebook && notebook.content.model?.cells ? stillCopy(notebook, model) : undefined;
    if (copy) return this.change("still", (page) => (this.drawn = showDocument(page.node, copy)));
    const how = notebook ? "Run its cell to see it again." : "Open the notebook and run the cell.";
    this.change("gone", (page) => (page.node.textContent = `${name} of ${path} is not running. ${how}`));
  }

  private change(to: string, draw: (page: Panel) => unknown): void {
    if (this.shown === to) return;
    this.shown = to;
    this.drawn();
    this.drawn = () => {};
    for (const child of [...this.widgets] as Widget[]) child.dispose();
    const page = new Panel();
    this.addWidget(page);
    void draw(page);
  }
}

export class Tabs {
  private readonly tracker = new WidgetTracker<MainAreaWidget<LabPanel>>({ namespace: "tvmlab-labs" });

  constructor(private readonly app: JupyterFrontEnd, private readonly labs: ILabs, restorer: ILayoutRestorer | null) {
    void restorer?.restore(this.tracker, {
      command: commands.open,
      args: ({ content }) => ({ ...content.where }),
      name: ({ content }) => content.id,
    });
  }

  /** Opens the tab, or brings it to the front. */
  open(where: Where): void {
    const there = this.tracker.find(({ content }) => content.where.model === where.model);
    const tab = there ?? new MainAreaWidget({ content: new LabPanel(where, this.labs) });
    if (!there) {
      tab.id = `${tab.content.id}-tab`;
      this.app.shell.add(tab, "main", { mode: "split-right" });
      void this.tracker.add(tab);
    }
    this.app.shell.activateById(tab.id);
  }
}
