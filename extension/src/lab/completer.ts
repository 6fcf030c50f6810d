// Names of loops and stages inside strings, primitives after a stage: the kernel knows them (tvmlab/lab/complete.py).
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import {
  ICompletionProviderManager,
  type CompletionHandler,
  type ICompletionContext,
  type ICompletionProvider,
} from "@jupyterlab/completer";
import { NotebookPanel } from "@jupyterlab/notebook";
import { ILabs } from "./labs";
import type { Line } from "./line";
import { begunWord, WORTH_ASKING } from "./words";

export class LoopNames implements ICompletionProvider {
  readonly identifier = "tvmlab:loops";
  readonly rank = 1100; // before the kernel's own, which knows nothing about strings

  constructor(private readonly labs: ILabs) {}

  isApplicable(context: ICompletionContext): Promise<boolean> {
    return Promise.resolve(this.lineOf(context) !== undefined);
  }

  async fetch(
    { text, offset }: CompletionHandler.IRequest,
    context: ICompletionContext,
  ): Promise<CompletionHandler.ICompletionItemsReply> {
    const before = text.slice(0, offset);
    const line = this.lineOf(context);
    const begun = begunWord(before);
    if (!line || !WORTH_ASKING.test(before)) return { start: offset, end: offset, items: [] };
    const { items = [] } = await line.ask({ kind: "complete", text: before });
    return {
      start: offset - begun.length,
      end: offset,
      items: items.map(({ text, kind }) => ({ label: text, insertText: text, type: kind })),
    };
  }

  private lineOf({ widget }: ICompletionContext): Line | undefined {
    return widget instanceof NotebookPanel ? this.labs.lineOf(widget) : undefined;
  }
}

export const completerPlugin: JupyterFrontEndPlugin<void> = {
  id: "tvmlab:completer",
  description: "Completes loops, stages and primitives of a schedule.",
  autoStart: true,
  requires: [ILabs],
  optional: [ICompletionProviderManager],
  activate: (_app: JupyterFrontEnd, labs: ILabs, manager: ICompletionProviderManager | null) =>
    manager?.registerProvider(new LoopNames(labs)),
};
