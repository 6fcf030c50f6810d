// The lab's state as signals: what the kernel says (one per trait), and what only this view knows.
import { computed, signal, type ReadonlySignal, type Signal } from "./signals";
import { latest } from "./actions/latest";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { GONE, TRAITS, type Ask, type Host } from "./host";
import { makeKeys, type Keys } from "./keys";
import type { Tuner } from "./drawers/tune";
import type { Act, Card, Frame, Preview, Reply, State } from "./payload";
import { pending } from "./pending";
import { recall } from "./ui/remember";
import { equal } from "./ui/values";
import type { Sign } from "./ui/sign";

export type Width = "wide" | "medium" | "narrow";
export type Drawer = "" | "workload" | "runs" | "compare" | "keys" | "legality" | "export" | "about" | "tune";
export type NarrowTab = "schedule" | "code" | "pictures" | "history";

type Traits = { [K in keyof State]: Signal<State[K]> };

export interface Store extends Traits {
  host: Host;
  /** The module that tunes, once it was asked for. */
  tuner?: Promise<Tuner | null> | undefined;
  /** Begins the ids of this view's elements: two views of one lab can be on a page. */
  uid: string;
  keys: Keys;
  live: boolean;
  /** A kernel answers now: only then controls that act are drawn. */
  acting: ReadonlySignal<boolean>;
  /** The cursor that is looked at: the kernel's, or with no kernel this view's own. */
  at: ReadonlySignal<number>;
  /** The frame at `at`. */
  shown: ReadonlySignal<Frame>;
  /** Why what was saved for the kernel's own step only is not that of the step looked at; "": it is. */
  only: ReadonlySignal<string>;
  width: Signal<Width>;
  drawer: Signal<Drawer>;
  /** Of a narrow lab; of a medium one, whether code or pictures are beside the tree. */
  tab: Signal<NarrowTab>;
  source: Signal<string>;
  picture: Signal<string>;
  preview: Signal<Preview | null>;
  /** A refusal, in the place where it was asked for: name of the action, or a pane. */
  refused: Signal<{ where: string; card: Card } | null>;
  /** Ids of the runs picked to be compared. */
  pair: Signal<{ a: string; b: string }>;
  /** Said by this view alone ("copied"), until the kernel says something. */
  said: Signal<string>;
  /** True between the loss of the kernel and its return. */
  lost: Signal<boolean>;
  /** "" | "soon" (a reply takes more than 300 ms) | "waiting" (more than a second). */
  busy: ReadonlySignal<"" | "soon" | "waiting">;
  /** Letters alone act: a setting of the person. */
  letters: Signal<boolean>;
  /** An action that was asked for outside of the actions list, by its letter ("": just the list); `from`: where the focus returns. */
  wanted: Signal<{ key: string; from: "tree" | "actions" } | null>;
  /** An alternative of a card that is pointed at, or has the focus: it is previewed before all else. */
  instead: Signal<Act | null>;
  /** The loop or stage under the pointer in some pane: all panes mark it. */
  hover: Signal<string>;
  /** Places that the open form offers: all legal ones are lit in the tree, the others say that they are not. */
  lit: Signal<ReadonlyMap<string, Sign> | null>;
  /** Chooses loops and stages: at once in this view, a moment later in the kernel. */
  select(ids: string[]): void;
  ask(request: Ask): Promise<Reply>;
  /** One request of its kind at a time; of those asked meanwhile only the last is sent. Null: a later one took its place. */
  latest(request: Ask): Promise<Reply | null>;
  /** A request whose answer is in the traits; a refusal is shown at `where`. */
  act(request: Ask, where?: string): Promise<boolean>;
  /** Looks at a step: at once where its frame is already here. */
  jump(cursor: number): Promise<boolean>;
}

export function makeStore(host: Host): { store: Store; stop: () => void } {
  const traits = Object.fromEntries(TRAITS.map((n) => [n, signal(host.get(n))])) as unknown as Traits;
  const said = signal("");
  let choosing = false; // a selection is on its way: what the kernel says of older ones must not jump back
  // The same ids are the same selection: nothing is drawn again for them.
  const chosen = () => equal(host.get("selection"), traits.selection.value) || (traits.selection.value = host.get("selection"));
  const stops = TRAITS.map((n) =>
    host.on(n, () => {
      if (n === "selection") return void (choosing || chosen());
      (traits[n] as Signal<unknown>).value = host.get(n);
      if (n === "message") said.value = "";
    }),
  );
  const lost = signal(false);
  const acting = computed(() => host.live && !lost.value);
  const looking = signal<number | null>(host.live ? null : traits.history.value.cursor);
  const at = computed(() => looking.value ?? traits.history.value.cursor);
  const asked = pending((request) => (lost.value ? Promise.resolve(GONE) : host.ask(request)));
  const letters = signal(recall("letters") !== "off");
  const keys = makeKeys(() => letters.value);
  const selections = latest(
    (ids: string[]) => asked.ask({ kind: "select", ids }),
    (_, ids) => {
      if (ids !== traits.selection.value) return;
      choosing = false;
      if (acting.value) chosen();
    },
  );
  const store: Store = {
    ...traits,
    host,
    uid: `tvl${Math.random().toString(36).slice(2, 9)}`,
    keys,
    live: host.live,
    acting,
    at,
    shown: computed(() => (looking.value === null ? traits.frame.value : unpacked(traits, at.value))),
    only: computed(() => {
      const { cursor } = traits.history.value;
      return acting.value || at.value === cursor ? "" : `saved for step ${cursor} only`;
    }),
    width: signal<Width>("wide"),
    // A lab without an expression begins with the choice of one.
    drawer: signal<Drawer>(host.live && traits.head.value.start ? "workload" : ""),
    tab: signal<NarrowTab>("schedule"),
    source: signal("loops"),
    picture: signal("graph"),
    preview: signal(null),
    refused: signal(null),
    pair: signal({ a: "", b: "" }),
    said,
    lost,
    busy: asked.busy,
    letters,
    wanted: signal(null),
    instead: signal(null),
    hover: signal(""),
    lit: signal(null),
    select(ids) {
      choosing = acting.value;
      traits.selection.value = ids;
      if (choosing) selections.ask(ids); // one at a time: an arrow held down asks no more often than it is answered
    },
    ask: asked.ask,
    latest: asked.latest,
    async act(request, where = "") {
      store.refused.value = null;
      if (request.kind === "jump" && request.cursor !== undefined) return store.jump(request.cursor);
      if (!acting.value) return false;
      const reply = await asked.ask(request);
      if (reply.card) store.refused.value = { where, card: reply.card };
      return reply.ok;
    },
    async jump(cursor) {
      const to = Math.max(0, Math.min(cursor, traits.history.value.steps.length));
      if (!acting.value) {
        looking.value = to;
        said.value = `Looking at step ${to} of ${traits.history.value.steps.length}.`;
        return true;
      }
      if (to === at.value) return true;
      // The frames of all steps are here: show it now, whatever the kernel is doing.
      const mine = traits.story.value.frames.length > to;
      if (mine) looking.value = to;
      const reply = await asked.latest({ kind: "jump", cursor: to });
      if (reply && looking.value === to && !lost.value) looking.value = null;
      return reply?.ok ?? true;
    },
  };
  const unlost = host.onLost?.((gone) => {
    looking.value = gone ? at.value : null;
    lost.value = gone;
  });
  const stop = () => {
    stops.forEach((s) => s());
    unlost?.();
    asked.stop();
  };
  return { store, stop };
}

function unpacked(traits: Traits, cursor: number): Frame {
  // A story of another version may lack a table, or an entry of one: what is there is shown.
  const { frames = [], lines, rows, levels } = traits.story.value;
  const found = frames[cursor];
  if (!found) return traits.frame.value;
  const pick = <T,>(table: T[] = [], numbers: number[] = []) => numbers.flatMap((n) => table[n] ?? []);
  const metrics = { ...found.metrics, levels: pick(levels, found.levels) };
  return { ...found, loops: pick(lines, found.loops), tree: pick(rows, found.tree), metrics };
}

export const StoreContext = createContext<Store | null>(null);

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error("used outside a lab");
  return store;
}
