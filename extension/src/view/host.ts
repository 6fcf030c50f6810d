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
  /** Calls back when the kernel is lost (true) or is there again (false). */
  onLost?(changed: (lost: boolean) => void): () => void;
  /** Pictures and sources that a saved document brings. */
  readonly document?: Document;
  dispose(): void;
}

export const TRAITS: Trait[] = ["head", "history", "frame", "selection", "actions", "runs", "message", "story"];

/** What a request gets when nobody can answer it. */
export const GONE: Reply = { re: -1, ok: false, data: null, card: null };

/** As much of a JupyterLab kernel connection as is used here; other hosts have none. */
interface KernelLike {
  statusChanged?: { connect(heard: Heard): void; disconnect(heard: Heard): void };
}
type Heard = (kernel: unknown, status: string) => void;

export function widgetHost(model: AnyModel): Host {
  let last = 0;
  let told = (_lost: boolean) => {};
  const waiting = new Map<number, (reply: Reply) => void>();
  const answered = (reply: Reply) => {
    waiting.get(reply?.re)?.(reply);
    waiting.delete(reply?.re);
  };
  const giveUp = () => {
    waiting.forEach((resolve) => resolve(GONE));
    waiting.clear();
  };
  const lose = () => {
    giveUp();
    told(true);
  };
  model.on("msg:custom", answered);
  const host: Host = {
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
        try {
          model.send({ ...request, seq });
        } catch {
          lose();
        }
      });
    },
    onLost(changed) {
      told = changed;
      // The line to the kernel was cut, or is there again: it is there if somebody answers.
      const look = () => {
        lose();
        void host.ask({ kind: "typed", text: "" }).then((reply) => reply !== GONE && changed(false));
      };
      const heard: Heard = (_, status) => /restarting|dead|terminating/.test(status) && lose();
      const { statusChanged } = (model.widget_manager as { kernel?: KernelLike } | undefined)?.kernel ?? {};
      model.on("comm_live_update", look);
      statusChanged?.connect(heard);
      return () => {
        model.off("comm_live_update", look);
        statusChanged?.disconnect(heard);
      };
    },
    dispose() {
      model.off("msg:custom", answered);
      giveUp();
    },
  };
  return host;
}

const L: never[] = [];
/** What the panes go through or cut into pieces. */
const EMPTY = {
  head: { expression: L, targets: L, machines: L, badge: { items: L, text: "" }, title: "", target: "", machine: "" },
  history: { steps: L, branches: L },
  frame: { tree: L, loops: L, notes: L, metrics: { levels: L } },
  actions: { items: L, ids: L },
  runs: { rows: L, ablation: L },
  selection: L,
  story: { frames: L },
  message: { text: "" },
};
type Tree = { [name: string]: unknown };

/** What was saved, with something empty where an older or newer version saved nothing, or nothing of use. */
function fill(there: unknown, empty: unknown): unknown {
  const list = Array.isArray(empty);
  if (list || empty === "") return typeof there === typeof empty && Array.isArray(there) === list ? there : empty;
  const made = { ...(there as Tree) };
  for (const name in empty as Tree) made[name] = fill(made[name], (empty as Tree)[name]);
  return made;
}

export const filled = (saved: State) => fill(saved, EMPTY) as State;

export function documentHost(document: Document): Host {
  const state = filled(document.state);
  return {
    live: false,
    document,
    get: (name) => state[name],
    on: () => () => {},
    ask: () => Promise.resolve(GONE),
    dispose() {},
  };
}
