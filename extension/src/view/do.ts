// What buttons, menus and keys do alike.
import { useStore, type Store } from "./store";
import { copyText } from "./ui/clipboard";

export interface Doing {
  undo(): boolean;
  redo(): boolean;
  run(): boolean;
  pin(): boolean;
  copyCode(): void;
  copyProgram(): void;
}

export function useDo(): Doing {
  return doing(useStore());
}

export function doing(store: Store): Doing {
  const acts = (kind: "undo" | "redo" | "run" | "pin") => () => {
    if (!store.acting.value) return false;
    void store.act({ kind }, "header");
    return true;
  };
  const copy = async (what: string, text: string) => {
    const { only, said } = store;
    if (only.value) return void (said.value = `Not copied: ${only.value}.`);
    const done = await copyText(text);
    said.value = done ? `Copied ${what}.` : "The browser does not let this page copy: select the text here.";
    if (!done) store.drawer.value = "export";
  };
  return {
    undo: acts("undo"),
    redo: acts("redo"),
    run: acts("run"),
    pin: acts("pin"),
    copyCode: () => void copy("the steps as code", store.head.value.calls),
    copyProgram: () => void copy("the whole program", store.head.value.program),
  };
}

/** Puts the step that is looked at before the one before it, or after the one after it, and goes on looking at it. */
export async function moveStep({ history, at, act, jump }: Store, by: 1 | -1): Promise<boolean> {
  const step = history.value.steps[at.value - 1];
  const to = at.value - 1 + by;
  if (!step || to < 0 || to >= history.value.steps.length) return false;
  return (await act({ kind: "move", step: step.id, to }, "history")) && jump(to + 1);
}
