// The program: its loops, what is made of them, and what changed.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useEscape, useKeys } from "../keys";
import type { DiffLine, Line } from "../payload";
import { useStore, type Store } from "../store";
import { Button } from "../ui/button";
import { CardView } from "../ui/card";
import { copyText } from "../ui/clipboard";
import { Menu, type Item } from "../ui/menu";
import { Pane } from "../ui/pane";
import { Search } from "../ui/search";
import { Spinner } from "../ui/spinner";
import { tabPanel, Tabs } from "../ui/tabs";
import { toggled } from "../tree/outline";
import { found, nextHit } from "./find";
import { Lines, show } from "./lines";
import { PassList } from "./passes";
import { asText, bodyEnd, changes, difference as passDiff, folded } from "./rows";
import { useDiff, useKinds, usePasses, useText, type Base } from "./sources";
import "./code.css";

const LONG = 400; // lines; longer texts do not wrap

export function CodePane() {
  const store = useStore();
  const kinds = useKinds(store);
  const kind = kinds.some((k) => k.kind === store.source.value) ? store.source.value : "loops";
  const name = `${store.uid}-code`;
  const tabs = kinds.map((k) => ({ id: k.kind, label: k.label }));
  const head = <Tabs label="Program text" name={name} tabs={tabs} current={kind} onPick={(id) => (store.source.value = id)} />;
  return (
    <Pane name="code" title="Code" head={head} of={`${store.shown.value.key} ${kind}`}>
      <div class="tvl-code" role="tabpanel" id={tabPanel(name)} aria-label={kinds.find((k) => k.kind === kind)?.label}>
        {kind === "passes" ? <Passes store={store} /> : <Source store={store} kind={kind} />}
      </div>
    </Pane>
  );
}

function Source({ store, kind }: { store: Store; kind: string }) {
  const [base, setBase] = useState<Base>("none");
  const text = useText(store, kind);
  const loops = kind === "loops";
  const diff = useDiff(store, loops ? base : "none");
  const preview = loops ? store.preview.value : null;
  const label = preview ? "what the action would change" : diff && base !== "none" ? baseName(store, base) : "";
  useKeys("code", loops ? { d: { does: "compare with: nothing, the step before, the pinned schedule", run: () => setBase(nextBase(store, base)) } } : {});
  return (
    <Body
      store={store}
      kind={kind}
      lines={text.lines}
      diff={preview?.diff.length ? preview.diff : diff}
      label={label}
      preview={!!preview?.diff.length}
      tools={loops && <BaseMenu store={store} base={base} onPick={setBase} />}
      stale={text.stale}
    >
      {text.error && <CardView card={text.error} onShow={(ids) => store.select(ids)} onMove={store.acting.value ? (move) => void store.act({ kind: "apply", act: move.act }, "code") : undefined} />}
      {text.note && <p class="tvl-note tvl-pre">{text.note}</p>}
    </Body>
  );
}

function Passes({ store }: { store: Store }) {
  const { passes, card, stale } = usePasses(store, true);
  const [chosen, setChosen] = useState(0);
  const [only, setOnly] = useState(true);
  const at = Math.min(chosen, passes.length - 1);
  const pass = passes[at];
  const diff = useMemo(() => (only && at > 0 && pass ? passDiff(passes[at - 1]!.lines, pass.lines) : null), [passes, at, only]);
  if (!pass) return card ? <CardView card={card} /> : stale ? <Waiting /> : <p class="tvl-empty">There are no passes to show.</p>;
  return (
    <>
      <PassList passes={passes} at={at} stale={stale} onPick={setChosen} id={`${store.uid}-passes`} />
      <Body
        store={store}
        kind="passes"
        lines={pass.lines}
        diff={diff}
        label={diff ? `what ${pass.name} changed` : ""}
        preview={false}
        stale={false}
        tools={<Button kind="quiet" label="Changes" pressed={only} hint="what the pass changed" onClick={() => setOnly(!only)} />}
      />
    </>
  );
}

interface BodyProps {
  store: Store;
  kind: string;
  lines: Line[];
  diff: DiffLine[] | null;
  label: string;
  preview: boolean;
  stale: boolean;
  tools: preact.ComponentChildren;
  children?: preact.ComponentChildren;
}

function Body({ store, kind, lines, diff, label, preview, stale, tools, children }: BodyProps) {
  const box = useRef<HTMLDivElement>(null);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [cursor, setCursor] = useState(-1);
  const [search, setSearch] = useState("");
  const [wraps, setWraps] = useState(false);
  const [plain, setPlain] = useState(false);
  const fits = diff ? diff.length * 20 <= (box.current?.clientHeight ?? 400) : true;
  const rows = useMemo(() => (diff ? changes(diff, opened, !fits) : folded(lines, search ? NONE : closed)), [lines, diff, closed, opened, fits, !search]);
  useEffect(() => setOpened(new Set()), [diff]);
  const inRows = useMemo(() => rows.map((row) => (row.kind === "line" ? row.line : NOTHING)), [rows]);
  const hits = useMemo(() => found(inRows, search), [inRows, search]);
  const selection = store.selection.value;
  const selected = useMemo(() => new Set(selection), [selection]);
  const wrap = wraps && rows.length <= LONG;

  useKeepScroll(box, preview);
  useEffect(() => {
    // What was chosen elsewhere comes into view.
    const first = rows.findIndex((row) => row.kind === "line" && row.line.id !== undefined && selected.has(row.line.id));
    if (!wrap && !preview && !box.current?.contains(document.activeElement)) show(box.current, first);
  }, [selection]);

  const go = (to: number) => {
    const row = Math.max(0, Math.min(to, rows.length - 1));
    setCursor(row);
    if (!wrap) show(box.current, row);
    else document.getElementById(`${store.uid}-line-${kind}-${row}`)?.scrollIntoView({ block: "nearest" });
    return true;
  };
  const pick = (at: number, event?: MouseEvent) => {
    const row = rows[at];
    setCursor(at);
    if (row?.kind === "gap") setOpened(new Set([...opened, row.from]));
    else if (row?.line.id !== undefined) {
      const { id } = row.line;
      store.select(event?.ctrlKey || event?.metaKey || event?.shiftKey ? toggled(selection, id) : [id]);
    }
  };
  const fold = (at: number, shut?: boolean) => {
    const row = rows[at];
    if (row?.kind !== "line" || diff || (shut !== undefined && closed.has(row.key) === shut)) return;
    const next = new Set(closed);
    if (!next.delete(row.key)) next.add(row.key);
    setClosed(next);
  };
  const canFold = (at: number) => {
    const row = rows[at];
    return !diff && row?.kind === "line" && bodyEnd(lines, row.number - 1) > row.number;
  };
  const hit = (back: boolean) => go(nextHit(hits, cursor, back));
  const onLines = (run: () => unknown) => () => (document.activeElement === box.current ? run() !== false : false);
  const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 400) / 20) - 1);
  useKeys("code", {
    ArrowDown: { does: "go through the lines; Left and Right fold and open", run: onLines(() => go(cursor + 1)) },
    ArrowUp: onLines(() => go(cursor - 1)),
    PageDown: onLines(() => go(cursor + page)),
    PageUp: onLines(() => go(cursor - page)),
    Home: onLines(() => go(0)),
    End: onLines(() => go(rows.length - 1)),
    ArrowLeft: onLines(() => fold(cursor, true)),
    ArrowRight: onLines(() => (rows[cursor]?.kind === "gap" ? pick(cursor) : fold(cursor, false))),
    Enter: { does: "choose the loop of the line", run: onLines(() => pick(cursor)) },
    n: { does: "next hit; N: the one before", run: () => (hits.length ? hit(false) : false) },
    N: () => (hits.length ? hit(true) : false),
    w: { does: "wrap long lines", run: () => setWraps(!wraps) },
  });
  useEscape(search !== "", () => {
    setSearch("");
    box.current?.focus();
  });
  const copy = () => void copyText(asText(lines)).then((done) => (store.said.value = done ? "Copied the text." : "The browser does not let this page copy."));
  return (
    <>
      <div class="tvl-code-bar">
        {tools}
        <Search value={search} label="Search the text" onInput={setSearch} onEnter={hit} />
        <span role="status">
          {search && <Button kind="quiet" label={`${hits.indexOf(cursor) + 1 || "–"} of ${hits.length}`} hint="next: n, before: N" onClick={() => hit(false)} />}
        </span>
        <Button kind="quiet" label="Wrap" pressed={wrap} hint="w" off={rows.length > LONG && `longer than ${LONG} lines: too long to wrap`} onClick={() => setWraps(!wraps)} />
        <Button kind="quiet" label="Text" pressed={plain} hint="the whole text, plain, for screen readers and for selecting" onClick={() => setPlain(!plain)} />
        <Button kind="quiet" icon="copy" label="Copy" onClick={copy} />
        {stale && <Spinner label="the text of this step is on its way" />}
        {preview && <span class="tvl-preview">preview</span>}
      </div>
      {children}
      {plain ? (
        <pre class="tvl-whole" tabIndex={0} aria-label="Program text">
          {asText(lines)}
        </pre>
      ) : (
        <Lines
          rows={rows}
          label={`Lines of the program${label ? `, ${label}` : ""}`}
          id={`${store.uid}-line-${kind}`}
          cursor={cursor}
          search={search}
          selected={selected}
          hover={store.hover.value}
          at={store.at.value}
          wrap={wrap}
          stepTitle={(step) => stepTitle(store, step)}
          onPick={pick}
          onFold={(row) => fold(row)}
          onHover={(id) => (store.hover.value = id)}
          box={box}
          canFold={canFold}
        />
      )}
    </>
  );
}

const NOTHING: Line = { d: 0, t: "" };
const NONE: ReadonlySet<string> = new Set();

/** A preview may be shorter than the text: afterwards the place in the text is the same again. */
function useKeepScroll(box: { current: HTMLElement | null }, preview: boolean): void {
  const kept = useRef(0);
  if (!preview && box.current) kept.current = box.current.scrollTop;
  useLayoutEffect(() => {
    if (box.current && !preview) box.current.scrollTop = kept.current;
  }, [preview]);
}

function BaseMenu({ store, base, onPick }: { store: Store; base: Base; onPick: (base: Base) => void }) {
  const { steps } = store.history.value;
  const pinned = store.runs.value.rows.some((run) => run.pinned);
  const items: Item[] = [
    { id: "none", label: "Nothing", checked: base === "none" },
    { id: "previous", label: "The step before", checked: base === "previous" },
    { id: "pinned", label: "The pinned schedule", checked: base === "pinned", off: pinned ? undefined : "nothing is pinned" },
    { id: "0", label: "The start", checked: base === 0 },
    ...steps.map((step, i) => ({ id: String(i + 1), label: `Step ${i + 1}: ${step.name || step.label}`, checked: base === i + 1 })),
  ];
  const label = base === "none" ? "Diff" : `Diff: ${baseName(store, base)}`;
  return (
    <Menu label={label} name="Compare the loops with" hint="d" items={items} onPick={(id) => onPick(/^\d+$/.test(id) ? Number(id) : (id as Base))} />
  );
}

function baseName(store: Store, base: Base): string {
  if (base === "pinned") return "with the pinned schedule";
  const step = base === "previous" ? Math.max(0, store.at.value - 1) : base;
  return step === 0 ? "with the start" : `with step ${step}`;
}

function nextBase(store: Store, base: Base): Base {
  if (base === "none") return "previous";
  return base === "previous" && store.runs.value.rows.some((run) => run.pinned) ? "pinned" : "none";
}

function stepTitle(store: Store, step: number): string {
  const info = store.history.value.steps[step - 1];
  if (!info) return `made by step ${step}`;
  return `made by step ${step}: ${info.name || info.label}${info.origin.label ? `, ${info.origin.label}` : ""}`;
}

function Waiting() {
  return (
    <p class="tvl-empty">
      <Spinner label="on its way" />
    </p>
  );
}
