// All notebooks that are open, the line to each one's kernel, and which lab the commands are about.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { Token } from "@lumino/coreutils";
import { DisposableDelegate, type IDisposable } from "@lumino/disposable";
import { Signal, type ISignal } from "@lumino/signaling";
import { Line, type LabInfo } from "./line";
import { addRenderer } from "./output";
import { cellOf } from "./outputs";
import { ILabSettings, type LabSettings } from "./settings";

/** A lab and the notebook it stands in. */
export interface Found {
  line: Line;
  lab: LabInfo;
}

export interface ILabs {
  /** The labs, the notebook or the choice among them have changed. */
  readonly changed: ISignal<ILabs, void>;
  /** Of the notebook in front. */
  readonly line: Line | null;
  /** What commands act on: the lab of the active cell, else the one chosen last, else the newest. */
  readonly current: Found | null;
  choose(lab: LabInfo): void;
  lineOf(panel: NotebookPanel): Line | undefined;
  panelOf(path: string): NotebookPanel | undefined;
}

export const ILabs = new Token<ILabs>("tvmlab:ILabs", "The labs in the kernels of the open notebooks.");

class Labs implements ILabs {
  readonly changed = new Signal<this, void>(this);
  private readonly lines = new Map<NotebookPanel, Line>();
  private chosen = "";

  constructor(
    private readonly tracker: INotebookTracker,
    private readonly settings: LabSettings,
  ) {
    const tell = () => this.changed.emit();
    tracker.currentChanged.connect(tell);
    tracker.activeCellChanged.connect(tell);
    NotebookActions.executed.connect((_, { notebook }) => {
      for (const [panel, line] of this.lines) if (panel.content === notebook) void line.connect();
    });
  }

  add(panel: NotebookPanel): IDisposable {
    const line = new Line(panel, this.settings);
    this.lines.set(panel, line);
    line.changed.connect(() => this.changed.emit());
    return new DisposableDelegate(() => {
      this.lines.delete(panel);
      line.dispose();
      this.changed.emit();
    });
  }

  get line(): Line | null {
    const panel = this.tracker.currentWidget;
    return (panel && this.lines.get(panel)) ?? null;
  }

  get current(): Found | null {
    const line = this.line;
    if (!line?.labs.length) return null;
    const { labs, panel } = line;
    const active = panel.content.activeCellIndex;
    const here = labs.find((lab) => lab.model_id && cellOf(panel, lab.model_id) === active);
    return { line, lab: here ?? labs.find((lab) => lab.id === this.chosen) ?? labs[labs.length - 1]! };
  }

  choose(lab: LabInfo): void {
    this.chosen = lab.id;
    this.changed.emit();
  }

  lineOf(panel: NotebookPanel): Line | undefined {
    return this.lines.get(panel);
  }

  panelOf(path: string): NotebookPanel | undefined {
    return [...this.lines.keys()].find((panel) => panel.context.path === path);
  }
}

export const labsPlugin: JupyterFrontEndPlugin<ILabs> = {
  id: "tvmlab:labs",
  description: "Finds the labs in the kernels of the open notebooks, and draws them in outputs.",
  autoStart: true,
  requires: [INotebookTracker, ILabSettings],
  provides: ILabs,
  activate: (app: JupyterFrontEnd, tracker: INotebookTracker, settings: LabSettings): ILabs => {
    const labs = new Labs(tracker, settings);
    app.docRegistry.addWidgetExtension("Notebook", {
      createNew: (panel: NotebookPanel) => {
        addRenderer(panel);
        return labs.add(panel);
      },
    });
    return labs;
  },
};
