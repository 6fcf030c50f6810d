// What may be done to the selection, in a fixed order so that hands learn the places; what may not, and why.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useEscape, useKeys, type Bindings } from "../keys";
import type { Action, Preview } from "../payload";
import { useStore, type Store } from "../store";
import { CardView } from "../ui/card";
import { Pane } from "../ui/pane";
import { Search } from "../ui/search";
import { SignMark, type Sign } from "../ui/sign";
import { equal } from "../ui/values";
import { Deltas } from "./deltas";
import { Form } from "./form";
import { Item } from "./item";
import { useOpening, useWanted, type Opening } from "./opening";
import { usePreview, type Verdict } from "./preview";
import { matches } from "./values";
import "./actions.css";

const GROUPS = [
  { id: "loop", label: "Loops" },
  { id: "stage", label: "Stages" },
  { id: "recipe", label: "Recipes" },
];

export function ActionsPane() {
  const store = useStore();
  return store.acting.value ? <Live store={store} /> : null;
}

function Live({ store }: { store: Store }) {
  const pane = useRef<HTMLDivElement>(null);
  const [search, setSearch] = useState("");
  const [stop, setStop] = useState(""); // the tab stop
  const [pointed, setPointed] = useState("");
  const [focused, setFocused] = useState("");
  const came = store.actions.value;
  const fresh = came.frame === store.shown.value.key && equal(came.ids, store.selection.value);
  // The list of a loop that was only passed by may come late: drawn, it would take the focus from a form that is open.
  const last = useRef(came);
  if (fresh) last.current = came;
  const { ids, items } = last.current;
  const shown = useMemo(() => items.filter((item) => matches(item, search)), [items, search]);
  const find = (name: string) => items.find((item) => item.name === name);
  const idOf = (name: string) => `${store.uid}-act-${items.findIndex((item) => item.name === name)}`;
  const focus = (name: string) => pane.current?.querySelector<HTMLElement>(`#${idOf(name)}`)?.focus();
  const toFirst = () => focus(shown[0]?.name ?? "");

  const opening = useOpening(store, pane, fresh, (name) => {
    focus(name);
    setFocused(""); // coming back is no pointing
  });
  const { open } = opening;
  const typed = fresh && open?.what === "form" ? open.act : null;
  const verdict = usePreview(store, typed, (fresh && find(pointed || (typed ? "" : focused))) || null);
  const start = (action: Action, from: "tree" | "actions") => {
    setStop(action.name);
    setPointed(""); // once done, it is no more what would be done
    setFocused("");
    opening.start(action, from);
  };
  useWanted(store, fresh, (key, from) => {
    const action = key && items.find((item) => item.key === key);
    if (action) return start(action, from);
    if (key) store.said.value = `There is no action with the letter ${key} for this selection.`;
    else focus(find(stop) ? stop : (shown[0]?.name ?? ""));
  });
  useEscape(open?.what === "why", opening.close);
  useEscape(search !== "", () => {
    setSearch("");
    toFirst();
  });
  useKeys("actions", bindings(shown, focused || stop, focus, start, opening.why));

  const tab = shown.some((item) => item.name === stop) ? stop : shown[0]?.name;
  return (
    <Pane
      name="actions"
      title={titleOf(store, ids)}
      of={store.actions.value}
      tools={<Search value={search} label="Search actions" onInput={setSearch} onEnter={toFirst} />}
    >
      <div class={`tvl-actions${fresh ? "" : " tvl-stale"}`} ref={pane} aria-busy={!fresh}>
        {!shown.length && (
          <p class="tvl-empty">
            {items.length
              ? "No action is called like that."
              : "Choose a loop or a stage in the schedule to see what can be done with it."}
          </p>
        )}
        {GROUPS.map(({ id, label }) => {
          const of = shown.filter((item) => item.group === id);
          return (
            of.length > 0 && (
              <section key={id}>
                <h3>{label}</h3>
                <ul>
                  {of.map((action) => (
                    <Item
                      key={action.name}
                      action={action}
                      id={idOf(action.name)}
                      stop={action.name === tab}
                      open={open?.name === action.name}
                      onStart={() => start(action, "actions")}
                      onWhy={() => opening.why(action)}
                      onHover={(over) => setPointed(over ? action.name : "")}
                      onFocus={(on) => {
                        setFocused(on ? action.name : "");
                        if (on) setStop(action.name);
                      }}
                    >
                      <Under store={store} action={action} opening={opening} verdict={verdict} id={idOf(action.name)} />
                    </Item>
                  ))}
                </ul>
              </section>
            )
          );
        })}
      </div>
      {items.length > 0 && !open && <Would action={find(pointed || focused)} preview={store.preview.value} />}
    </Pane>
  );
}

interface UnderProps {
  store: Store;
  action: Action;
  opening: Opening;
  verdict: Verdict | null;
  id: string;
}

/** What is open under an action: why it was refused, why it is not legal, or its values. */
function Under({ store, action, opening, verdict, id }: UnderProps) {
  const { name } = action;
  const open = opening.open?.name === name ? opening.open : null;
  const refused = store.refused.value?.where === name ? store.refused.value.card : null;
  const card = refused ?? (open?.what === "why" ? action.card : null);
  useEffect(() => {
    if (open?.what !== "form") return;
    store.lit.value = places(action);
    return () => (store.lit.value = null);
  }, [open?.what, action]);
  return (
    <>
      {card && (
        <CardView
          card={card}
          onMove={(move) => void opening.apply(name, move.act, false)}
          onShow={(where) => store.select(where)}
          onClose={refused ? () => (store.refused.value = null) : opening.close}
        />
      )}
      {open?.what === "form" && (
        <Form
          action={action}
          act={open.act}
          id={`${id}-value`}
          verdict={verdict && equal(verdict.act, open.act) ? verdict : null}
          preview={store.preview.value}
          onChange={opening.change}
          onApply={(act, sure) => void opening.apply(name, act, sure)}
          onClose={opening.close}
        />
      )}
    </>
  );
}

/** The loops among an action's choices that were judged. */
function places(action: Action): ReadonlyMap<string, Sign> {
  const choices = action.params.flatMap((param) => (param.kind === "choice" ? param.choices : []));
  const axis = (value: unknown) => (value as { axis?: string } | null)?.axis;
  return new Map(choices.flatMap(({ value, sign }) => (sign && axis(value) ? [[axis(value)!, sign]] : [])));
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

function titleOf(store: Store, ids: string[]): string {
  const rows = store.shown.value.tree;
  const names = ids.slice(0, 3).map((id) => rows.find((row) => row.id === id)?.name ?? id);
  return ids.length ? `Actions on ${names.join(", ")}${ids.length > 3 ? " …" : ""}` : "Actions";
}

function bindings(
  shown: Action[],
  stop: string,
  focus: (name: string) => void,
  start: (action: Action, from: "actions") => void,
  why: (action: Action) => void,
): Bindings {
  const at = shown.findIndex((item) => item.name === stop);
  const go = (to: number) => (event: KeyboardEvent) => {
    if (!(event.target as Element).closest("[data-start]")) return false;
    focus(shown[Math.max(0, Math.min(to, shown.length - 1))]!.name);
    return true;
  };
  const all: Bindings = {
    ArrowUp: { does: "go through the actions; Enter starts one", run: go(at - 1) },
    ArrowDown: go(at + 1),
    Home: go(0),
    End: go(shown.length - 1),
    "?": {
      does: "why: what speaks against the action, and what can be done instead",
      run: () => (shown[at] ? why(shown[at]) : false),
    },
  };
  for (const action of shown) if (action.key) all[action.key] ??= () => start(action, "actions");
  return all;
}
