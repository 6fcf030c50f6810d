// What may be done to the selection, in a fixed order so that hands learn the places; what may not, and why.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { enter } from "../focus";
import { useEscape, useKeys, type Bindings } from "../keys";
import type { Act, Action, Card, Preview, Reply } from "../payload";
import { useStore, type Store } from "../store";
import { CardView } from "../ui/card";
import { Pane } from "../ui/pane";
import { Search } from "../ui/search";
import { SignMark } from "../ui/sign";
import { equal } from "../ui/values";
import { Deltas } from "./deltas";
import { Form } from "./form";
import { Item } from "./item";
import { latest } from "./latest";
import { first, matches } from "./values";
import "./actions.css";

type From = "tree" | "actions";

interface Open {
  name: string;
  /** "why": the card; "form": the values. */
  what: "why" | "form";
  act: Act;
  from: From;
}

interface Verdict {
  act: Act;
  sign: Action["sign"];
  reason: string;
  card: Card | null;
}

const REST = 40; // ms that the pointer or the focus must rest before a preview is asked for
const GROUPS = [
  { id: "loop", label: "Loops" },
  { id: "stage", label: "Stages" },
  { id: "recipe", label: "Recipes" },
];

export function ActionsPane() {
  const store = useStore();
  if (!store.acting.value) return null;
  return <Live store={store} />;
}

function Live({ store }: { store: Store }) {
  const pane = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<Open | null>(null);
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const [search, setSearch] = useState("");
  const [stop, setStop] = useState("");
  const [pointed, setPointed] = useState("");
  const [focused, setFocused] = useState("");
  const { ids, items, frame } = store.actions.value;
  const fresh = frame === store.shown.value.key && equal(ids, store.selection.value);
  const shown = useMemo(() => items.filter((item) => matches(item, search)), [items, search]);
  const idOf = (name: string) => `${store.uid}-act-${items.findIndex((item) => item.name === name)}`;
  const find = (name: string) => items.find((item) => item.name === name);

  const form = open?.what === "form" && fresh && find(open.name) ? open : null;
  // A pointer that rests on the open form does not take its values' place.
  const other = pointed === form?.name ? "" : pointed;
  const preview = usePreview(store, form, (fresh && find(other || (form ? "" : focused))) || null, setVerdict);
  useEffect(() => {
    if (!fresh) return;
    setOpen(null);
    setVerdict(null);
  }, [ids, frame]);

  useEffect(() => {
    // What opens under an action is to be seen whole, if there is room.
    pane.current?.querySelector(".tvl-open")?.scrollIntoView?.({ block: "nearest" });
  }, [open?.name, open?.what]);
  const focusItem = (name: string) => pane.current?.querySelector<HTMLElement>(`#${idOf(name)}`)?.focus();
  const close = () => {
    if (open?.from === "tree") toTree(pane.current);
    else if (open) focusItem(open.name);
    setOpen(null);
  };
  const apply = async (name: string, act: Act, sure: boolean, from: From) => {
    setPointed("");
    const done = await store.act(sure ? { kind: "apply", act, sure } : { kind: "apply", act }, name);
    if (!done) return;
    setOpen(null);
    if (from === "tree") toTree(pane.current);
    else focusItem(name);
  };
  const start = (action: Action, from: From) => {
    const act = first(action);
    setStop(action.name);
    const what = action.sign === "x" || (action.sign === "=" && !action.params.length) ? "why" : "form";
    if (what === "form" && !action.params.length && action.sign === "+") return void apply(action.name, act, false, from);
    if (what === "why" && !action.card) store.said.value = `${action.label}: ${action.reason || action.word}`;
    if (what === "why" && from === "tree") focusItem(action.name);
    setVerdict(null);
    setOpen(open?.name === action.name && open.what === what ? null : { name: action.name, what, act, from });
  };
  const why = (action: Action) =>
    setOpen(open?.name === action.name && open.what === "why" ? null : { name: action.name, what: "why", act: first(action), from: "actions" });

  useWanted(store, fresh, (key, from) => {
    const action = key ? items.find((item) => item.key === key || item.name === key) : undefined;
    if (action) return start(action, from);
    if (key) store.said.value = `There is no action with the letter ${key} for this selection.`;
    else focusItem(find(stop)?.name ?? shown[0]?.name ?? "");
  });
  useEscape(open?.what === "why", close);
  useEscape(search !== "", () => {
    setSearch("");
    focusItem(shown[0]?.name ?? stop);
  });
  useKeys("actions", keys({ shown, stop: focused || stop, focusItem, start, why }));

  const rowOf = new Map(store.shown.value.tree.map((row) => [row.id, row.name]));
  const title = ids.length ? `Actions on ${ids.slice(0, 3).map((id) => rowOf.get(id) ?? id).join(", ")}${ids.length > 3 ? " …" : ""}` : "Actions";
  const first_ = shown.find((item) => item.name === stop)?.name ?? shown[0]?.name;
  return (
    <Pane name="actions" title={title} of={store.actions.value} tools={<Search value={search} label="Search actions" onInput={setSearch} onEnter={() => focusItem(shown[0]?.name ?? "")} />}>
      <div class={`tvl-actions${fresh ? "" : " tvl-stale"}`} ref={pane} aria-busy={!fresh}>
        {!items.length && <p class="tvl-empty">Choose a loop or a stage in the schedule to see what can be done with it.</p>}
        {items.length > 0 && !shown.length && <p class="tvl-empty">No action is called like that.</p>}
        {GROUPS.map((group) => {
          const of = shown.filter((item) => item.group === group.id);
          if (!of.length) return null;
          return (
            <ul key={group.id} aria-label={group.label}>
              {GROUPS.filter((g) => items.some((item) => item.group === g.id)).length > 1 && (
                <li class="tvl-group" role="presentation">{group.label}</li>
              )}
              {of.map((action) => {
                const mine = open?.name === action.name ? open : null;
                const refused = store.refused.value?.where === action.name ? store.refused.value.card : null;
                const card = refused ?? (mine?.what === "why" ? action.card : null);
                return (
                  <Item
                    key={action.name}
                    action={action}
                    id={idOf(action.name)}
                    stop={action.name === first_}
                    open={!!mine}
                    onStart={() => start(action, "actions")}
                    onWhy={() => why(action)}
                    onHover={(over) => setPointed(over ? action.name : "")}
                    onFocus={(on) => {
                      setFocused(on ? action.name : "");
                      if (on) setStop(action.name);
                    }}
                  >
                    {card && (
                      <CardView
                        card={card}
                        onMove={(move) => void apply(action.name, move.act, false, mine?.from ?? "actions")}
                        onShow={(where) => store.select(where)}
                        onClose={refused ? () => (store.refused.value = null) : close}
                      />
                    )}
                    {mine && form === mine && (
                      <Form
                        action={action}
                        act={mine.act}
                        id={`${idOf(action.name)}-value`}
                        verdict={verdict && equal(verdict.act, mine.act) ? verdict : null}
                        preview={preview && equal(preview.act, mine.act) ? preview : null}
                        onChange={(act) => setOpen({ ...mine, act })}
                        onApply={(act, sure) => void apply(action.name, act, sure, mine.from)}
                        onClose={close}
                      />
                    )}
                  </Item>
                );
              })}
            </ul>
          );
        })}
      </div>
      {items.length > 0 && !open && <Would action={find(pointed || focused)} preview={preview} />}
    </Pane>
  );
}

/** Always there, so that nothing below the pointer moves when a preview comes. */
function Would({ action, preview }: { action: Action | undefined; preview: Preview | null }) {
  return (
    <div class="tvl-would">
      {preview ? (
        <Deltas deltas={preview.deltas} />
      ) : action?.reason ? (
        <p>
          <SignMark sign={action.sign} /> {action.reason}
        </p>
      ) : (
        <p>Point at an action to see what it would change.</p>
      )}
    </div>
  );
}

/** Keeps `store.preview` at what the open form, or else the action pointed at, would do. */
function usePreview(store: Store, form: Open | null, action: Action | null, onVerdict: (verdict: Verdict) => void): Preview | null {
  const told = useRef(onVerdict);
  told.current = onVerdict;
  const asked = useMemo(
    () =>
      latest(
        (act: Act) => store.ask({ kind: "preview", act }),
        (reply: Reply, act) => {
          const preview = reply.ok ? (reply.data as Preview | null) : null;
          const card = preview?.card ?? reply.card;
          told.current({ act, sign: preview?.sign ?? "x", reason: preview?.reason ?? card?.text ?? "", card });
          store.preview.value = preview && preview.sign !== "x" ? { ...preview, act } : null;
        },
      ),
    [store],
  );
  const act = action && action.sign !== "x" ? action.act : action ? null : (form?.act ?? null);
  const text = act ? JSON.stringify(act) : "";
    useEffect(() => {
    if (act) asked.ask(act, REST);
    return () => {
      asked.drop();
    };
  }, [text, store.shown.value.key]);
  useEffect(() => {
    // Kept while the next one is on its way, unless nothing is asked for any more.
    if (!text) store.preview.value = null;
  }, [text]);
  useEffect(() => {
    store.preview.value = null;
    return () => {
      store.preview.value = null;
    };
  }, [store.shown.value.key]);
  return store.preview.value;
}

/** Starts what was asked for elsewhere as soon as the list is the one of the selection. */
function useWanted(store: Store, fresh: boolean, start: (key: string, from: From) => void): void {
  const wanted = store.wanted.value;
  useLayoutEffect(() => {
    if (!wanted || !fresh) return;
    store.wanted.value = null;
    start(wanted.key, wanted.from);
  }, [wanted, fresh]);
}

interface ByKey {
  shown: Action[];
  stop: string;
  focusItem: (name: string) => void;
  start: (action: Action, from: From) => void;
  why: (action: Action) => void;
}

function keys({ shown, stop, focusItem, start, why }: ByKey): Bindings {
  const at = shown.findIndex((item) => item.name === stop);
  const go = (to: number) => (event: KeyboardEvent) => {
    if (!(event.target as Element).closest("[data-start]")) return false;
    focusItem(shown[Math.max(0, Math.min(to, shown.length - 1))]?.name ?? "");
    return true;
  };
  const all: Bindings = {
    ArrowUp: { does: "go through the actions; Enter starts one", run: go(at - 1) },
    ArrowDown: go(at + 1),
    Home: go(0),
    End: go(shown.length - 1),
    "?": { does: "why: what speaks against the action, and what can be done instead", run: () => (shown[at] ? why(shown[at]!) : false) },
  };
  for (const action of shown) if (action.key && !(action.key in all)) all[action.key] = () => start(action, "actions");
  return all;
}

function toTree(from: Element | null): void {
  const tree = from?.closest(".tvl")?.querySelector<HTMLElement>("[data-pane=tree] [role=tree]");
  if (tree) enter(tree);
}
