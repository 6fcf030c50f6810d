// The launcher's card: a notebook with a lab in it, run at once.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { Notification } from "@jupyterlab/apputils";
import { PathExt } from "@jupyterlab/coreutils";
import { IDefaultFileBrowser } from "@jupyterlab/filebrowser";
import { ILauncher } from "@jupyterlab/launcher";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import { labIcon } from "./icon";
import { commands } from "./names";
import { ILabSettings, type LabSettings } from "./settings";
import { template } from "./template";
import { freeName } from "./words";

export const launcherPlugin: JupyterFrontEndPlugin<void> = {
  id: "tvmlab:launcher",
  description: "A card in the launcher that opens a notebook with a lab.",
  autoStart: true,
  requires: [ILabSettings],
  optional: [ILauncher, IDefaultFileBrowser],
  activate: (
    app: JupyterFrontEnd,
    settings: LabSettings,
    launcher: ILauncher | null,
    browser: IDefaultFileBrowser | null,
  ) => {
    const command = commands.newNotebook;
    app.commands.addCommand(command, {
      label: (args) => (args.launcher ? "Schedule Lab" : "New Notebook with a Lab"),
      caption: "A new notebook in which a schedule is made by pointing",
      icon: (args) => (args.launcher ? labIcon : undefined),
      execute: async (args) => {
        const folder = typeof args.cwd === "string" ? args.cwd : (browser?.model.path ?? "");
        const panel = await open(app, folder, settings.example);
        if (panel) await run(panel);
      },
    });
    // Cards of this category show a picture by its address, or else a letter.
    const kernelIconUrl = `data:image/svg+xml;utf8,${encodeURIComponent(labIcon.svgstr)}`;
    launcher?.add({ command, category: "Notebook", rank: 20, args: { launcher: true }, kernelIconUrl });
  },
};

/** Makes the file and opens it; null where there is no kernel for Python. */
async function open(app: JupyterFrontEnd, folder: string, code: string): Promise<NotebookPanel | null> {
  const { contents, kernelspecs } = app.serviceManager;
  await kernelspecs.ready;
  const specs = kernelspecs.specs;
  const python = [specs?.default ?? "", ...Object.keys(specs?.kernelspecs ?? {})];
  const kernel = python.find((name) => specs?.kernelspecs[name]?.language === "python");
  if (!kernel) {
    Notification.error("The lab needs a Python kernel, and there is none here.", { autoClose: 8000 });
    return null;
  }
  const there = (await contents.get(folder)).content as { name: string }[];
  const path = PathExt.join(folder, freeName(new Set(there.map(({ name }) => name))));
  await contents.save(path, { type: "notebook", format: "json", content: template(kernel, code) });
  const found = await app.commands.execute("docmanager:open", { path, factory: "Notebook", kernel: { name: kernel } });
  return (found as NotebookPanel | undefined) ?? null;
}

async function run(panel: NotebookPanel): Promise<void> {
  await Promise.all([panel.context.ready, panel.sessionContext.ready, panel.revealed]);
  await NotebookActions.runAll(panel.content, panel.sessionContext);
  await begin(panel.content.node);
}

/** The keys go on in what the lab begins with: running has given the focus to the cell. */
async function begin(book: HTMLElement): Promise<void> {
  for (let n = 0; n < 100; n += 1) {
    const first = book.querySelector<HTMLElement>(".tvl [data-first]");
    const now = document.activeElement;
    const elsewhere = now?.closest(".tvl, .cm-editor, input, textarea");
    if (elsewhere) return;
    if (first) return first.focus({ preventScroll: true });
    await new Promise((done) => setTimeout(done, 100));
  }
}
