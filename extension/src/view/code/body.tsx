// A text with its tools: search, fold, wrap, copy, and keys for all of it.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useEscape, useKeys, type Bindings } from "../keys";
import type { DiffLine, Line } from "../payload";
import type { Store } from "../store";
import { toggled } from "../tree/outline";
import { Button } from "../ui/button";
import { copyText } from "../ui/clipboard";
import { Search } from "../ui/search";
import { Spinner } from "../ui/spinner";
import { nextHit } from "./find";
import { HEIGHT, Lines, show } from "./lines";
import { seen, useKeepScroll, useListing, useReveal, type Listing } from "./listing";
import { asText } from "./rows";

interface Props {
  store: Store;
  kind: string;
  lines: Line[];
  /** Shown instead of the lines. */
  diff: DiffLine[] | null;
  /** What the diff is of. */
  label: string;
  preview: boolean;
  stale: boolean;
  tools: ComponentChildren;
  children?: ComponentChildren;
}

const LONG = 400; // lines; longer texts do not wrap

export function Body({ store, kind, lines, diff, label, preview, stale, tools, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState(-1);
  const [search, setSearch] = useState("");
  const [wraps, setWraps] = useState(false);
  const [plain, setPlain] = useState(false);
  const list = useListing(lines, diff, search, box);
  const { rows, hits } = list;
  const wrap = wraps && rows.length <= LONG;
  const selection = store.selection.value;
  const selected = useMemo(() => new Set(selection), [selection]);
  const id = `${store.uid}-line-${kind}`;
  useKeepScroll(box, preview);
  useReveal(store, rows, box, wrap || preview);
  useEffect(() => setCursor(-1), [kind]);

  const go = (to: number) => {
    const row = Math.max(0, Math.min(to, rows.length - 1));
    setCursor(row);
    if (wrap) box.current?.querySelector(`#${id}-${row}`)?.scrollIntoView({ block: "nearest" });
    else show(box.current, row);
  };
  const pick = (at: number, event?: MouseEvent) => {
    const row = rows[at];
    setCursor(at);
    list.open(at);
    const loop = row?.kind === "line" ? row.line.id : undefined;
    if (loop === undefined) return;
    store.select(event?.ctrlKey || event?.metaKey || event?.shiftKey ? toggled(selection, loop) : [loop]);
  };
  const hit = (back: boolean) => go(nextHit(hits, cursor, back));
  const within = (run: () => void) => () => (document.activeElement === box.current ? run() : false);
  useKeys("code", {
    ...moves(list, cursor, Math.floor(seen(box) / HEIGHT) - 1, go, pick, within),
    n: { does: "next hit; N: the one before", run: () => (hits.length ? hit(false) : false) },
    N: () => (hits.length ? hit(true) : false),
    w: { does: "wrap long lines", run: () => setWraps(!wraps) },
  });
  useEscape(search !== "", () => {
    setSearch("");
    box.current?.focus();
  });
  const copy = () =>
    void copyText(asText(lines)).then(
      (done) => (store.said.value = done ? "Copied the text." : "The browser does not let this page copy."),
    );
  return (
    <>
      <div class="tvl-code-bar">
        {tools}
        <Search value={search} label="Search the text" onInput={setSearch} onEnter={hit} />
        <span role="status">
          {search && (
            <Button
              kind="quiet"
              label={`${hits.indexOf(cursor) + 1 || "–"} of ${hits.length}`}
              hint="next: n, before: N"
              onClick={() => hit(false)}
            />
          )}
        </span>
        <Button
          kind="quiet"
          label="Wrap"
          pressed={wrap}
          hint="w"
          off={rows.length > LONG && `longer than ${LONG} lines: too long to wrap`}
          onClick={() => setWraps(!wraps)}
        />
        <Button
          kind="quiet"
          label="Text"
          pressed={plain}
          hint="the whole text, plain, for screen readers and for selecting"
          onClick={() => setPlain(!plain)}
        />
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
          key={kind}
          list={list}
          label={`Lines of the program${label && `, ${label}`}`}
          id={id}
          cursor={cursor}
          search={search}
          selected={selected}
          hover={store.hover.value}
          at={store.at.value}
          wrap={wrap}
          stepTitle={(step) => stepTitle(store, step)}
          onPick={pick}
          onHover={(loop) => (store.hover.value = loop)}
          box={box}
        />
      )}
    </>
  );
}

type Within = (run: () => void) => () => void | boolean;

/** The keys that act on the line at the cursor, while the lines have the focus. */
function moves(
  list: Listing,
  at: number,
  page: number,
  go: (to: number) => void,
  pick: (at: number) => void,
  within: Within,
): Bindings {
  return {
    ArrowDown: { does: "go through the lines; Left and Right fold and open", run: within(() => go(at + 1)) },
    ArrowUp: within(() => go(at - 1)),
    PageDown: within(() => go(at + page)),
    PageUp: within(() => go(at - page)),
    Home: within(() => go(0)),
    End: within(() => go(list.rows.length - 1)),
    ArrowLeft: within(() => list.fold(at, true)),
    ArrowRight: within(() => (list.rows[at]?.kind === "gap" ? list.open(at) : list.fold(at, false))),
    Enter: { does: "choose the loop of the line", run: within(() => pick(at)) },
  };
}

function stepTitle(store: Store, step: number): string {
  const info = store.history.value.steps[step - 1];
  if (!info) return `made by step ${step}`;
  return `made by step ${step}: ${info.name || info.label}${info.origin.label ? `, ${info.origin.label}` : ""}`;
}
