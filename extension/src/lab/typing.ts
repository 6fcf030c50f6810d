// While a `%%schedule --live` cell is edited, its text goes to the kernel, which brings the lab under it up to date.
// The protocol is at the top of tvmlab/lab/magic.py.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import type { ICellModel } from "@jupyterlab/cells";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { DisposableDelegate } from "@lumino/disposable";
import { LIVE } from "./names";
import { isLive } from "./words";

const REST = 300; // milliseconds without a key

class Typing {
  private cell: ICellModel | null = null;
  private comm: Kernel.IComm | null = null;
  private refused = false; // this kernel has no such comm: tvmlab is not loaded yet
  private timer = 0;
  private seq = 0;
  private busy = false;
  private again = false; // the text changed while an answer was awaited
  private told = ""; // the cell whose text the lab shows now

  constructor(private readonly panel: NotebookPanel) {
    const { content, sessionContext } = panel;
    content.activeCellChanged.connect((_, cell) => this.watch(cell?.model ?? null));
    sessionContext.kernelChanged.connect(this.forget, this);
    sessionContext.statusChanged.connect((_, status) => {
      if (["restarting", "autorestarting", "dead"].includes(status)) this.forget();
    });
    this.watch(content.activeCell?.model ?? null);
  }

  /** A cell was run: tvmlab may be loaded now, and the lab shows what is. */
  ran(cell: ICellModel): void {
    this.refused = false;
    window.clearTimeout(this.timer);
    if (cell.id === this.told) this.told = "";
  }

  dispose(): void {
    this.watch(null);
    this.forget();
  }

  private watch(cell: ICellModel | null): void {
    if (cell === this.cell) return;
    this.cell?.contentChanged.disconnect(this.edited, this);
    window.clearTimeout(this.timer);
    this.stop();
    this.cell = cell;
    cell?.contentChanged.connect(this.edited, this);
  }

  private edited(): void {
    window.clearTimeout(this.timer);
    const cell = this.cell;
    if (!cell || !isLive(cell.sharedModel.getSource())) return this.stop();
    this.timer = window.setTimeout(() => this.send(), REST);
  }

  private send(): void {
    if (!this.cell || this.panel.isDisposed) return;
    if (this.busy) {
      this.again = true;
      return;
    }
    const comm = this.open();
    if (!comm) return;
    this.busy = true;
    this.told = this.cell.id;
    comm.send({ kind: "live", seq: ++this.seq, cell: this.cell.id, text: this.cell.sharedModel.getSource() });
  }

  private answered(): void {
    this.busy = false;
    if (!this.again) return;
    this.again = false;
    this.send();
  }

  private stop(): void {
    if (this.told && this.comm && !this.comm.isDisposed) this.comm.send({ kind: "stop", seq: ++this.seq, cell: this.told });
    this.told = "";
    this.again = false;
  }

  private open(): Kernel.IComm | null {
    const kernel = this.panel.sessionContext.session?.kernel;
    if (this.comm || this.refused || !kernel?.handleComms) return this.comm;
    const comm = kernel.createComm(LIVE);
    comm.onMsg = ({ content }) => {
      if ((content.data as { re?: unknown }).re === this.seq) this.answered();
    };
    comm.onClose = () => {
      this.forget();
      this.refused = true;
    };
    comm.open();
    return (this.comm = comm);
  }

  private forget(): void {
    this.comm = null;
    this.busy = this.again = this.refused = false;
    this.told = "";
  }
}

export const typingPlugin: JupyterFrontEndPlugin<void> = {
  id: "tvmlab:typing",
  description: "Shows the loops of a %%schedule --live cell while it is typed.",
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    const all = new Map<NotebookPanel, Typing>();
    app.docRegistry.addWidgetExtension("Notebook", {
      createNew: (panel: NotebookPanel) => {
        const typing = new Typing(panel);
        all.set(panel, typing);
        return new DisposableDelegate(() => {
          all.delete(panel);
          typing.dispose();
        });
      },
    });
    NotebookActions.executed.connect((_, { notebook, cell }) => {
      for (const [panel, typing] of all) if (panel.content === notebook) typing.ran(cell.model);
    });
  },
};
