// Names that the kernel's side of the package uses too.
export const MIME = "application/vnd.tvmlab.schedule+json";
export const VIEW_MIME = "application/vnd.jupyter.widget-view+json"; // of ipywidgets
export const LABS = "tvmlab.labs"; // comm target: tvmlab/lab/panel.py
export const LIVE = "tvmlab.live"; // comm target: tvmlab/lab/magic.py
export const WIDGETS = "jupyter.widget"; // comm target of ipywidgets
export const FILE = ".tvlab.json"; // what lab.save writes

export const commands = {
  newNotebook: "tvmlab:new-notebook",
  open: "tvmlab:open-lab",
  undo: "tvmlab:undo",
  redo: "tvmlab:redo",
  run: "tvmlab:run",
  compare: "tvmlab:compare",
  copyCode: "tvmlab:copy-code",
  insertCell: "tvmlab:insert-code-cell",
  exportHtml: "tvmlab:export-html",
  snapshot: "tvmlab:snapshot-all",
  clearState: "tvmlab:clear-widget-state",
  example: "tvmlab:insert-example",
} as const;
