// The live widget of a lab, where its model is alive in the kernel. ipywidgets draws it; this only finds out.
import type { NotebookPanel } from "@jupyterlab/notebook";
import { MimeModel, type IRenderMime, type IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { PromiseDelegate } from "@lumino/coreutils";
import type { ISignal } from "@lumino/signaling";
import { VIEW_MIME, WIDGETS } from "./names";

/** What is used of ipywidgets' manager, which no token gives: its renderers hold it. */
interface Manager {
  has_model(id: string): boolean;
  get_model(id: string): Promise<{ comm_live?: boolean }>;
  readonly restoredStatus: boolean;
  readonly restored: ISignal<unknown, void>;
}

interface Renderer extends IRenderMime.IRenderer {
  _manager?: PromiseDelegate<Manager> | null;
}

// A busy machine takes its time to restore the widgets of a page that was reloaded. Meanwhile the still copy is there.
const PATIENCE = 60_000; // milliseconds
const STEP = 50;
export const pause = (ms: number) => new Promise<null>((resolve) => setTimeout(() => resolve(null), ms));

/**
 * Whether the kernel has the widget, with its comm open. A model that was only restored from the notebook's saved state
 * is not alive: nobody would answer it.
 */
export async function isAlive(panel: NotebookPanel, id: string): Promise<boolean> {
  await panel.sessionContext.ready;
  const manager = await managerOf(panel);
  if (!manager) return false;
  if (!manager.has_model(id) && !manager.restoredStatus) await restored(manager);
  if (!manager.has_model(id)) return false;
  const model = await manager.get_model(id).catch(() => null);
  if (typeof model?.comm_live === "boolean") return model.comm_live;
  return hasComm(panel, id);
}

/** A renderer of ipywidgets gets its manager shortly after the kernel is there; one that is made too early, never. */
async function managerOf(panel: NotebookPanel): Promise<Manager | null> {
  for (let n = 0; n < PATIENCE / STEP; n++) {
    if (panel.isDisposed || !panel.sessionContext.session?.kernel) return null;
    const renderer = viewRenderer(panel.content.rendermime);
    if (!renderer) return null;
    const manager = await Promise.race([renderer._manager?.promise ?? null, pause(0)]);
    renderer.dispose();
    if (manager) return manager;
    await pause(STEP);
  }
  return null;
}

function viewRenderer(registry: IRenderMimeRegistry): Renderer | null {
  try {
    return registry.createRenderer(VIEW_MIME) as Renderer;
  } catch {
    return null; // ipywidgets is not installed
  }
}

function restored(manager: Manager): Promise<unknown> {
  return Promise.race([new Promise((resolve) => manager.restored.connect(resolve)), pause(PATIENCE)]);
}

async function hasComm(panel: NotebookPanel, id: string): Promise<boolean> {
  const kernel = panel.sessionContext.session?.kernel;
  const reply = await kernel?.requestCommInfo({ target_name: WIDGETS });
  return reply?.content.status === "ok" && Object.hasOwn(reply.content.comms, id);
}

/** A new view of the widget. */
export async function liveView(panel: NotebookPanel, id: string): Promise<IRenderMime.IRenderer> {
  const renderer = panel.content.rendermime.createRenderer(VIEW_MIME);
  const data = { [VIEW_MIME]: { model_id: id, version_major: 2, version_minor: 0 } };
  await renderer.renderModel(new MimeModel({ data, trusted: true }));
  return renderer;
}
