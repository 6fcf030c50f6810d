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

/** What the panes go through or cut into pieces: lists, then texts. */
const LISTS = "head.expression head.targets head.machines head.badge.items history.steps history.branches frame.tree frame.loops frame.notes frame.metrics.levels actions.items actions.ids runs.rows runs.ablation selection story.frames";
const TEXTS = "head.title head.name head.target head.machine head.calls head.program head.badge.text message.text";

/** The state with something empty where an older or newer version saved nothing, or nothing of use. */
export function filled(saved: State): State {
  const state = { ...saved } as Tree;
  const fill = (paths: string, empty: unknown) => {
    for (const path of paths.split(" ")) {
      const names = path.split(".");
      const last = names.pop()!;
      const holder = names.reduce((at, name) => (at[name] = { ...(at[name] as Tree) }) as Tree, state);
      const there = holder[last];
      if (typeof there !== typeof empty || Array.isArray(there) !== Array.isArray(empty)) holder[last] = empty;
    }
  };
  fill(LISTS, []);
  fill(TEXTS, "");
  return state as unknown as State;
}
type Tree = Record<string, unknown>;

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
