// The commands of the palette. The palette hides what is disabled, and with it the reason: so a command that cannot act
// now stays, with the reason in its label, and says it when it is chosen.
import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { INotebookTracker, NotebookActions } from "@jupyterlab/notebook";
import type { ReadonlyPartialJSONObject } from "@lumino/coreutils";
import * as acts from "./acts";
import { labIcon } from "./icon";
import { ILabs, type Found } from "./labs";
import { commands } from "./names";
import { Tabs, type Where } from "./tab";
import { isPointer, places } from "./outputs";
import { ILabSettings, type LabSettings } from "./settings";

const NO_LAB = "there is no lab in this notebook";
const CATEGORY = "Schedule Lab";

interface Entry {
  label: string;
  what: string; // in one sentence
  /** Why not now, or "". */
  not?: (found: Found) => string;
  run: (found: Found) => unknown;
}

const request = (kind: "undo" | "redo" | "run") => (found: Found) => acts.act(found, { kind });

const ON_A_LAB: Record<string, Entry> = {
  [commands.undo]: {
    label: "Undo the Last Step",
    what: "Goes back one step of the schedule.",
    not: ({ lab }) => (lab.step ? "" : "the schedule is at its start"),
    run: request("undo"),
  },
  [commands.redo]: {
    label: "Redo the Next Step",
    what: "Takes the step that was undone again.",
    not: ({ lab }) => (lab.step < lab.steps ? "" : "no step was undone"),
    run: request("redo"),
  },
  [commands.run]: { label: "Run and Check", what: "Runs the schedule, checks and times it.", run: request("run") },
  [commands.compare]: {
    label: "Compare with the Pinned Run",
    what: "Measures the pinned run and the newest one in turns.",
    not: (found) => (acts.pair(found) ? "" : "it takes a pinned run and another one"),
    run: (found) => acts.act(found, { kind: "compare", ids: acts.pair(found)! }),
  },
  [commands.copyCode]: { label: "Copy Code", what: "Copies the steps as code.", run: acts.copyCode },
  [commands.insertCell]: {
    label: "Insert Code Cell",
    what: "Puts the steps as code into a new cell under the lab.",
    run: acts.insertCell,
  },
  [commands.exportHtml]: {
    label: "Export as HTML",
    what: "Downloads the lab as one page that works offline.",
    run: acts.exportHtml,
  },
};

function addLabCommands(app: JupyterFrontEnd, labs: ILabs): void {
  for (const [id, { label, what, not, run }] of Object.entries(ON_A_LAB)) {
    const obstacle = () => (labs.current ? (not?.(labs.current) ?? "") : NO_LAB);
    app.commands.addCommand(id, {
      label: () => withReason(label, obstacle()),
      caption: () => withReason(what, obstacle()),
      execute: async () => {
        await labs.line?.connect(); // a lab that was just shown may not be listed yet
        const reason = obstacle();
        if (reason) acts.say(`${label}: ${reason}.`);
        else await run(labs.current!);
      },
    });
  }
}

const withReason = (text: string, reason: string) => (reason ? `${text} (${reason})` : text);

function addOpen(app: JupyterFrontEnd, labs: ILabs, tabs: Tabs): void {
  const found = (args: ReadonlyPartialJSONObject): Where | null => {
    if (typeof args.model === "string") return args as unknown as Where;
    const now = labs.current;
    return now && { path: now.line.panel.context.path, model: now.lab.model_id, name: now.lab.name };
  };
  app.commands.addCommand(commands.open, {
    label: (args) => withReason("Open in a Tab", found(args) ? "" : NO_LAB),
    caption: "Shows the lab beside the notebook: a second view of the same one.",
    execute: async (args) => {
      if (!found(args)) await labs.line?.connect();
      const where = found(args);
      if (where) tabs.open(where);
      else acts.say(`Open in a Tab: ${NO_LAB}.`);
    },
  });
}

/** With the setting openIn=tab, the lab of a cell that has run opens in a tab too. */
function openNew(tracker: INotebookTracker, settings: LabSettings, tabs: Tabs): void {
  NotebookActions.executed.connect((_, { notebook, cell }) => {
    const panel = tracker.find((one) => one.content === notebook);
    if (!panel || settings.values.openIn !== "tab") return;
    for (const place of places(panel)) {
      if (!isPointer(place.data) || notebook.widgets[place.cell] !== cell) continue;
      tabs.open({ path: panel.context.path, model: place.data.live, name: `Lab of cell ${place.cell + 1}` });
    }
  });
}

function addNotebookCommands(app: JupyterFrontEnd, labs: ILabs, tracker: INotebookTracker, settings: LabSettings): void {
  const alive = () => Boolean(labs.line?.labs.length);
  app.commands.addCommand(commands.snapshot, {
    label: (args) => (args.toolbar ? "Snapshot labs" : withReason("Snapshot All Labs", alive() ? "" : NO_LAB)),
    caption: "Writes still copies of all labs into the notebook, for GitHub and print",
    icon: (args) => (args.toolbar ? labIcon : undefined),
    isVisible: (args) => !args.toolbar || alive(),
    execute: async () => {
      await labs.line?.connect();
      if (labs.line && alive()) await acts.snapshot(labs.line);
      else acts.say(`Snapshot All Labs: ${NO_LAB}.`);
    },
  });

  const state = () => tracker.currentWidget?.content.model?.getMetadata("widgets");
  app.commands.addCommand(commands.clearState, {
    label: () => withReason("Clear the Saved Widget State", state() ? "" : "this notebook holds none"),
    caption: "Makes the file smaller; the still copies stay.",
    execute: () => {
      if (!state()) return acts.say("Clear the Saved Widget State: this notebook holds none.");
      tracker.currentWidget?.content.model?.deleteMetadata("widgets");
      acts.say("The saved widget state was cleared. Save the notebook to make its file smaller.");
    },
  });

  app.commands.addCommand(commands.example, {
    label: "Insert an Example Cell",
    caption: "Puts a cell that opens a lab under the active one.",
    execute: () => {
      const panel = tracker.currentWidget;
      if (!panel) acts.say("Insert an Example Cell: no notebook is open.");
      else acts.addCell(panel, panel.content.activeCellIndex, settings.example);
    },
  });
}

export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: "tvmlab:commands",
  description: "Commands that act on the lab in front.",
  autoStart: true,
  requires: [ILabs, INotebookTracker, ILabSettings],
  optional: [ICommandPalette, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    labs: ILabs,
    tracker: INotebookTracker,
    settings: LabSettings,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
  ) => {
    addLabCommands(app, labs);
    addNotebookCommands(app, labs, tracker, settings);
    // Notebook 7 shows one document at a time: there is no place for a tab.
    if (restorer) {
      const tabs = new Tabs(app, labs, restorer);
      addOpen(app, labs, tabs);
      openNew(tracker, settings, tabs);
    }
    const here = Object.values(commands).filter((id) => app.commands.hasCommand(id));
    for (const command of here) palette?.addItem({ command, category: CATEGORY });
    labs.changed.connect(() => here.forEach((id) => app.commands.notifyCommandChanged(id)));
  },
};
