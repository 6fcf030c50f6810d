// The lab's state as signals: what the kernel says (one per trait), and what only this view knows.
import { computed, signal, type Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { latest } from "./actions/latest";
import { TRAITS, type Ask, type Host } from "./host";
import type { Card, Frame, Preview, Reply, State } from "./payload";

export type Width = "wide" | "medium" | "narrow";
export type Drawer = "" | "workload" | "runs" | "compare" | "keys" | "legality" | "export";

type Traits = { [K in keyof State]: Signal<State[K]> };

export interface Store extends Traits {
  host: Host;
  live: boolean;
  /** The cursor that is looked at: the kernel's, or with no kernel this view's own. */
  at: Signal<number>;
  /** The frame at `at`. */
  shown: Signal<Frame>;
  width: Signal<Width>;
  drawer: Signal<Drawer>;
  /** Of a narrow lab. */
  tab: Signal<"schedule" | "code" | "pictures" | "history">;
  source: Signal<string>;
  picture: Signal<string>;
  preview: Signal<Preview | null>;
  /** A refusal, in the place where it was asked for: name of the action, or a pane. */
  refused: Signal<{ where: string; card: Card } | null>;
  /** True between the loss of the kernel and its return. */
  lost: Signal<boolean>;
  /** An action that was asked for outside of the actions list, by its letter or name; `from`: where the focus returns. */
  wanted: Signal<{ key: string; from: "tree" | "actions" } | null>;
  /** Chooses loops and stages: at once in this view, a moment later in the kernel. */
  select(ids: string[]): void;
  ask(request: Ask): Promise<Reply>;
  /** A request whose answer is in the traits; a refusal is shown at `where`. */
  act(request: Ask, where?: string): Promise<boolean>;
}

export function makeStore(host: Host): { store: Store; stop: () => void } {
  const traits = Object.fromEntries(TRAITS.map((n) => [n, signal(host.get(n))])) as unknown as Traits;
  let choosing = 0; // selections that the kernel has not answered: older ones must not jump back
  const stops = TRAITS.map((n) =>
    host.on(n, () => {
      if (n !== "selection" || !choosing) (traits[n] as Signal<unknown>).value = host.get(n);
    }),
  );
  const selections = latest(
    (ids: string[]) => host.ask({ kind: "select", ids }),
    (_, ids) => {
      if (ids !== traits.selection.value) return;
      choosing = 0;
      if (host.live) traits.selection.value = host.get("selection");
    },
  );
  const own = signal(traits.history.value.cursor);
  const at = host.live ? computed(() => traits.history.value.cursor) : own;
  const store: Store = {
    ...traits,
    host,
    live: host.live,
    at: at as Signal<number>,
    shown: computed(() => (host.live ? traits.frame.value : unpacked(traits, at.value))) as Signal<Frame>,
    width: signal<Width>("wide"),
    drawer: signal<Drawer>(""),
    tab: signal("schedule"),
    source: signal("loops"),
    picture: signal("graph"),
    preview: signal(null),
    refused: signal(null),
    lost: signal(false),
    wanted: signal(null),
    select(ids) {
      choosing++;
      traits.selection.value = ids;
      selections.ask(ids, 30);
    },
    ask: (request) => host.ask(request),
    async act(request, where = "") {
      store.refused.value = null;
      if (!host.live) return jump(own, traits, request);
      const reply = await host.ask(request);
      if (reply.card) store.refused.value = { where, card: reply.card };
      return reply.ok;
    },
  };
  return { store, stop: () => stops.forEach((stop) => stop()) };
}

/** Without a kernel a step can still be looked at. */
function jump(own: Signal<number>, traits: Traits, request: Ask): boolean {
  if (request.kind !== "jump" || request.cursor === undefined) return false;
  own.value = Math.max(0, Math.min(request.cursor, traits.history.value.steps.length));
  return true;
}

function unpacked(traits: Traits, cursor: number): Frame {
  const { frames, lines, rows } = traits.story.value;
  const found = frames[cursor];
  if (!found) return traits.frame.value;
  const pick = <T,>(table: T[], numbers: number[]) => numbers.map((n) => table[n]!);
  return { ...found, loops: pick(lines, found.loops), tree: pick(rows, found.tree) };
}

export const StoreContext = createContext<Store | null>(null);

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error("used outside a lab");
  return store;
}
