// What commands do with a lab. Each returns nothing and says in a notification what a person should know.
import { Clipboard, Notification } from "@jupyterlab/apputils";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { Request } from "../view/payload";
import type { Found } from "./labs";
import type { Answer, Line } from "./line";
import { cellOf } from "./outputs";

export async function act({ line, lab }: Found, request: Omit<Request, "seq">): Promise<unknown> {
  const answer = await line.ask({ kind: "act", lab: lab.id, request });
  const trouble = complaint(answer);
  if (trouble) Notification.error(trouble, { autoClose: 6000 });
  return trouble ? null : answer.reply?.data;
}

function complaint({ error, reply }: Answer): string {
  if (error) return error;
  if (reply?.ok) return "";
  const card = reply?.card;
  return card ? [card.title, card.text].filter(Boolean).join(": ") : "The lab did not answer.";
}

async function code(found: Found): Promise<string | null> {
  const text = await act(found, { kind: "document", what: "code" });
  return typeof text === "string" ? text : null;
}

export async function copyCode(found: Found): Promise<void> {
  const text = await code(found);
  if (text === null) return;
  Clipboard.copyToSystem(text);
  say("The steps of the lab are on the clipboard.");
}

/** A new cell under the lab's. Cells of a person are not written over. */
export async function insertCell(found: Found): Promise<void> {
  const { panel } = found.line;
  const text = await code(found);
  if (text === null) return;
  const cell = cellOf(panel, found.lab.model_id);
  addCell(panel, cell >= 0 ? cell : panel.content.activeCellIndex, text);
}

export function addCell(panel: NotebookPanel, below: number, text: string): void {
  panel.content.activeCellIndex = below;
  NotebookActions.insertBelow(panel.content);
  panel.content.activeCell?.model.sharedModel.setSource(text);
}

export async function exportHtml(found: Found): Promise<void> {
  const text = await act(found, { kind: "document", what: "html" });
  if (typeof text !== "string") return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  link.download = `${found.lab.name.replace(/[^\p{L}\p{N}._-]+/gu, "-")}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function say(text: string): void {
  Notification.info(text, { autoClose: 4000 });
}

/** The two runs to compare: the pinned one, and the newest other that is done. */
export function pair({ lab }: Found): string[] | null {
  const done = lab.runs.filter((run) => run.state === "done");
  const pinned = done.find((run) => run.pinned);
  const other = done.filter((run) => run !== pinned).at(-1);
  return pinned && other ? [pinned.id, other.id] : null;
}

export async function snapshot(line: Line): Promise<void> {
  const { error, written = 0 } = await line.ask({ kind: "snapshot" });
  if (error) return void Notification.error(error, { autoClose: 6000 });
  const what = written === 1 ? "The still copy of one lab was" : `The still copies of ${written} labs were`;
  say(`${what} written. Save the notebook to keep ${written === 1 ? "it" : "them"}.`);
}

/** Brings the cell of a lab into view. */
export function showCell({ line, lab }: Found): boolean {
  const index = cellOf(line.panel, lab.model_id);
  if (index < 0) return false;
  line.panel.content.activeCellIndex = index;
  const cell = line.panel.content.widgets[index];
  if (cell) void line.panel.content.scrollToCell(cell, "start");
  return true;
}
