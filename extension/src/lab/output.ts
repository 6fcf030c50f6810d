// How labs look in outputs. The cell of a lab has two: the widget (a pointer to its model) and its still copy.
//
//                     model alive in the kernel      no kernel, or another one
//   widget            the live widget                nothing
//   still copy        folded                         read-only, with time travel
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { IRenderMime } from "@jupyterlab/rendermime";
import { Panel, Widget } from "@lumino/widgets";
import { isAlive, liveView, pause } from "./live";
import { MIME } from "./names";
import { isPointer } from "./outputs";
import { showDocument } from "./still";

const RANK = -20; // before ipywidgets (-10), whose view of a model that is gone is an error message
const PATIENCE = 700; // milliseconds: until then a still copy waits whether it has to be drawn at all

/** Factory for a notebook, or with no notebook for documents that stand alone. */
export function factory(panel?: NotebookPanel): IRenderMime.IRendererFactory {
  return {
    safe: true, // data drawn as text; pictures are cleaned
    mimeTypes: [MIME],
    createRenderer: () => new LabOutput(panel),
  };
}

export function addRenderer(panel: NotebookPanel): void {
  panel.content.rendermime.addFactory(factory(panel), RANK);
}

class LabOutput extends Panel implements IRenderMime.IRenderer {
  private drawn: () => void = () => {};
  private model = ""; // whose live view is shown
  private fold: HTMLDetailsElement | null = null;
  private data: unknown = null;

  constructor(private readonly notebook?: NotebookPanel) {
    super();
    this.addClass("tvx-output");
  }

  async renderModel({ data, trusted }: IRenderMime.IMimeModel): Promise<void> {
    this.data = data[MIME];
    const pointer = isPointer(this.data);
    const id = pointer ? (this.data as { live: string }).live : (this.data as { model?: unknown } | null)?.model;
    // A page that nobody trusts gets no live widget: its module would be run.
    const alive = trusted && typeof id === "string" ? this.alive(id) : Promise.resolve(false);
    if (pointer) return (await alive) ? this.showLive(String(id)) : this.showNothing();
    const soon = await Promise.race([alive, pause(PATIENCE)]);
    if (soon === true) return this.showFolded();
    this.showStill();
    if ((await alive) && !this.isDisposed) this.showFolded();
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.drawn();
    super.dispose();
  }

  private alive(id: string): Promise<boolean> {
    return this.notebook ? isAlive(this.notebook, id) : Promise.resolve(false);
  }

  private async showLive(id: string): Promise<void> {
    if (this.model === id || this.isDisposed) return;
    this.clear();
    this.addClass("tvx-live");
    this.model = id;
    this.addWidget(await liveView(this.notebook!, id));
  }

  private showNothing(): void {
    this.clear();
    this.addClass("tvx-empty");
  }

  private showStill(): void {
    this.clear();
    this.addClass("tvx-still");
    this.drawn = showDocument(this.body(), this.data);
  }

  /** Drawn only when it is opened; an update while it is open draws it anew. */
  private showFolded(): void {
    if (this.fold) return this.fold.open ? this.drawFold() : undefined;
    this.clear();
    const fold = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Still copy, for readers without a kernel";
    fold.append(summary);
    fold.className = "tvx-fold";
    fold.addEventListener("toggle", () => (fold.open ? this.drawFold() : this.drawn()));
    this.fold = fold;
    this.body().append(fold);
  }

  private drawFold(): void {
    this.drawn();
    const place = document.createElement("div");
    this.fold!.append(place);
    const gone = showDocument(place, this.data);
    this.drawn = () => {
      gone();
      place.remove();
      this.drawn = () => {};
    };
  }

  private body(): HTMLElement {
    const body = new Widget();
    this.addWidget(body);
    return body.node;
  }

  private clear(): void {
    this.drawn();
    this.drawn = () => {};
    this.fold = null;
    this.model = "";
    for (const state of ["tvx-empty", "tvx-live", "tvx-still"]) this.removeClass(state);
    for (const child of [...this.widgets]) child.dispose();
  }
}
