// Where a lab's state comes from: a live kernel (anywidget's model), or a saved document with nothing behind it.
import type { AnyModel } from "@anywidget/types";
import type { Document, Reply, Request, State } from "./payload";

export type Trait = keyof State;
export type Ask = Omit<Request, "seq">;

export interface Host {
  /** A kernel answers. Without one everything is read-only, and controls that act are not shown. */
  readonly live: boolean;
  get<K extends Trait>(name: K): State[K];
  /** Calls back when the trait changes; returns how to stop. */
  on(name: Trait, changed: () => void): () => void;
  /** One request. Refused acts are replies with a card, never rejections. */
  ask(request: Ask): Promise<Reply>;
  /** Pictures and sources that a saved document brings. */
  readonly document?: Document;
  dispose(): void;
}

export const TRAITS: Trait[] = ["head", "history", "frame", "selection", "actions", "runs", "message", "story"];

const GONE: Reply = { re: -1, ok: false, data: null, card: null };

export function widgetHost(model: AnyModel): Host {
  let last = 0;
  const waiting = new Map<number, (reply: Reply) => void>();
  const answered = (reply: Reply) => {
    waiting.get(reply?.re)?.(reply);
    waiting.delete(reply?.re);
  };
  model.on("msg:custom", answered);
  return {
    live: true,
    get: (name) => model.get(name),
    on(name, changed) {
      model.on(`change:${name}`, changed);
      return () => model.off(`change:${name}`, changed);
    },
    ask(request) {
      // Two views of one model get each other's replies: their numbers must differ.
      const seq = (last = Math.max(last + 1, Math.floor(Math.random() * 2 ** 40)));
      return new Promise((resolve) => {
        waiting.set(seq, resolve);
        model.send({ ...request, seq });
      });
    },
    dispose() {
      model.off("msg:custom", answered);
      waiting.forEach((resolve) => resolve(GONE));
      waiting.clear();
    },
  };
}

export function documentHost(document: Document): Host {
  return {
    live: false,
    document,
    get: (name) => document.state[name],
    on: () => () => {},
    ask: () => Promise.resolve(GONE),
    dispose() {},
  };
}
