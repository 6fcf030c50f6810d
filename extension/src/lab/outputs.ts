// What the outputs of a notebook say of its labs: which widgets stand in them, and which still copies.
import type { ICodeCellModel } from "@jupyterlab/cells";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { Document, Pointer } from "../view/payload";
import { MIME } from "./names";

/** Output of this package: of the widget (a pointer to its model), or its still copy (a document). */
export type Shown = Pointer | Document;

export function isPointer(data: unknown): data is Pointer {
  return typeof data === "object" && data !== null && typeof (data as Pointer).live === "string";
}

export interface Place {
  cell: number;
  data: Shown;
}

/** The outputs of this package, from the first cell to the last. */
export function places(panel: NotebookPanel): Place[] {
  const cells = panel.content.model?.cells;
  const found: Place[] = [];
  for (let cell = 0; cell < (cells?.length ?? 0); cell++) {
    const model = cells!.get(cell);
    if (model.type !== "code") continue;
    const { outputs } = model as ICodeCellModel;
    for (let n = 0; n < outputs.length; n++) {
      const data = outputs.get(n).data[MIME];
      if (typeof data === "object" && data !== null) found.push({ cell, data: data as unknown as Shown });
    }
  }
  return found;
}

/** The models of widgets that stand in the notebook. */
export function pointers(panel: NotebookPanel): string[] {
  return places(panel).flatMap(({ data }) => (isPointer(data) ? [data.live] : []));
}

/** The cell whose output is the widget; -1 where there is none. */
export function cellOf(panel: NotebookPanel, model: string): number {
  return places(panel).find(({ data }) => isPointer(data) && data.live === model)?.cell ?? -1;
}

export function stillCopy(panel: NotebookPanel, model: string): Document | undefined {
  const found = places(panel).find(({ data }) => !isPointer(data) && data.model === model);
  return found?.data as Document | undefined;
}
