// What the drawer knows of the kernel's tuning: asked for again and again while it is open, a trial only once.
import type { Card, Preview, Reply } from "../view/payload";
import { signal, type Signal } from "../view/signals";
import type { Store } from "../view/store";
import { equal } from "../view/ui/values";
import { milestones } from "./milestones";
import type { Asked, Knob, Trial, TuneState, Update } from "./payload";

const SOON = 250; // ms between two questions while trials are measured
const IDLE = 2000;
const GOING = new Set<TuneState["state"]>(["connecting", "running", "finishing", "stopping"]);

export const isGoing = (state: TuneState | null): boolean => !!state && GOING.has(state.state);

/** Why the last value of a knob cannot be taken out. */
export const LAST = "one value stays, or there is no schedule to search. Put another one in first.";

/** With the place where it was without, in order. */
export const toggled = (on: number[], place: number): number[] =>
  on.includes(place) ? on.filter((i) => i !== place) : [...on, place].sort((a, b) => a - b);

/** Where a refusal is shown. */
export type Place = "knobs" | "head" | "board" | "heat";

export interface Session {
  state: Signal<TuneState | null>;
  trials: Signal<Trial[]>;
  /** The act that is on its way. */
  telling: Signal<Asked["what"] | "">;
  refused: Signal<{ where: Place; card: Card } | null>;
  /** Nobody answers. */
  lost: Signal<boolean>;
  /** The trial whose schedule the tree and the code show. */
  looking: Signal<Trial | null>;
  ask(what: Asked["what"], values?: Asked["values"]): Promise<Reply>;
  /** An act: its effect is in the state, a refusal at its place. */
  tell(what: Asked["what"], values: Asked["values"], where: Place): Promise<boolean>;
  /** The values of a knob that the search may use: shown at once. */
  allow(knob: string, on: number[]): Promise<boolean>;
  /** Takes a value out of those, or in. The last one stays: `kept` is its knob, so that this is said there. */
  toggle(knob: Knob, place: number): void;
  kept: Signal<string>;
  look(trial: Trial | null): Promise<void>;
  adopt(trial: Trial): Promise<void>;
  stop(): void;
}

export function makeSession(store: Store): Session {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let flying = false;
  let again = false; // asked for while a question was on its way
  let stopped = false;
  let mine: Preview | null = null;
  let unescape: (() => void) | null = null;
  const release = () => {
    unescape?.();
    unescape = null;
  };
  const page = document;
  const heard = milestones((text) => (store.said.value = text));
  const ask = (what: Asked["what"], values: Asked["values"] = {}) => store.ask({ kind: "tune", what, values });

  function take({ re, data, card }: Reply): void {
    session.lost.value = re < 0;
    if (card) session.refused.value = { where: "head", card };
    const update = data as Update | null;
    if (!update) return;
    const { state, trials, since } = update;
    const had = session.trials.value;
    if (trials.length || since < had.length) session.trials.value = [...had.slice(0, since), ...trials];
    if (!state) return;
    // The same knobs are the same object: what draws hundreds of values need not do so four times a second.
    const before = session.state.value?.knobs;
    session.state.value = before && equal(before, state.knobs) ? { ...state, knobs: before } : state;
    heard(state);
  }

  async function poll(): Promise<void> {
    clearTimeout(timer);
    if (flying) return void (again = true);
    if (stopped || page.hidden) return;
    flying = true;
    again = false;
    const n = session.state.value?.n ?? -1;
    const reply = await ask("state", { n, since: session.trials.value.length });
    flying = false;
    if (stopped) return;
    take(reply);
    keepLooking();
    timer = setTimeout(() => void poll(), again ? 0 : isGoing(session.state.value) ? SOON : IDLE);
  }

  /** What an action would do takes the place of the trial that is looked at, for as long as it is pointed at. */
  function keepLooking(): void {
    if (mine && !store.preview.value) store.preview.value = mine;
  }

  const session: Session = {
    state: signal<TuneState | null>(null),
    trials: signal<Trial[]>([]),
    telling: signal<Asked["what"] | "">(""),
    refused: signal<{ where: Place; card: Card } | null>(null),
    lost: signal(false),
    looking: signal<Trial | null>(null),
    ask,
    async tell(what, values, where) {
      session.refused.value = null;
      session.telling.value = what;
      const { ok, card } = await ask(what, values);
      session.telling.value = "";
      if (card) session.refused.value = { where, card };
      void poll();
      return ok;
    },
    kept: signal(""),
    toggle(knob, place) {
      const on = toggled(knob.on, place);
      if (on.length) return void session.allow(knob.id, on);
      session.kept.value = knob.id;
      store.said.value = `${knob.label}: ${LAST}`;
    },
    async allow(knob, on) {
      session.kept.value = "";
      const state = session.state.value!;
      const knobs = state.knobs.map((k) => (k.id === knob ? { ...k, on } : k));
      session.state.value = { ...state, knobs };
      const ok = await session.tell("allow", { knob, on }, "knobs");
      if (!ok) session.state.value = { ...session.state.value!, n: -1, knobs: state.knobs };
      return ok;
    },
    async look(trial) {
      release();
      mine = store.preview.value = null;
      session.looking.value = trial;
      if (!trial) return;
      unescape = store.keys.onEscape(() => void session.look(null));
      session.refused.value = null;
      const { data, card } = await ask("trial", { index: trial.index });
      if (session.looking.value !== trial) return; // another one since
      if (card) session.refused.value = { where: "board", card };
      const preview = data as Preview | null;
      if (preview?.card) session.refused.value = { where: "board", card: preview.card };
      if (!preview || preview.sign === "x") {
        release();
        return void (session.looking.value = null);
      }
      mine = store.preview.value = preview;
      store.said.value = `Looking at trial ${trial.n}.`;
    },
    async adopt(trial) {
      if (await session.tell("adopt", { index: trial.index }, "board")) await session.look(null);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      page.removeEventListener("visibilitychange", seen);
      unheard();
      release();
      if (mine) store.preview.value = null;
    },
  };
  const seen = () => void poll();
  page.addEventListener("visibilitychange", seen);
  const unheard = store.host.on("history", seen); // other steps: other values to open
  seen();
  return session;
}
