// Lines of text with a gutter. Only those that are seen are in the page.
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { LineText } from "../ui/lines";
import type { Listing } from "./listing";
import type { Shown } from "./rows";
import { reveal, span } from "./window";

export const HEIGHT = 20; // pixels of a line; the style sheet says the same

interface Props {
  list: Listing;
  label: string;
  id: string;
  cursor: number;
  search: string;
  selected: ReadonlySet<string>;
  hover: string;
  /** The step looked at: its lines stand out. */
  at: number;
  wrap: boolean;
  stepTitle: (step: number) => string;
  onPick: (row: number, event: MouseEvent) => void;
  onHover: (id: string) => void;
  box: RefObject<HTMLDivElement | null>;
}

export function Lines(props: Props) {
  const { box, wrap } = props;
  const { rows } = props.list;
  const [top, setTop] = useState(0);
  const [seen, setSeen] = useState(400);
  useLayoutEffect(() => {
    const pane = box.current!;
    const measure = () => pane.clientHeight && setSeen(pane.clientHeight);
    measure();
    if (typeof ResizeObserver === "undefined") return;
    const watch = new ResizeObserver(measure);
    watch.observe(pane);
    return () => watch.disconnect();
  }, [box]);
  // A shorter text scrolls by itself; the window follows before it is painted.
  useLayoutEffect(() => setTop(box.current!.scrollTop), [rows.length]);
  const { first, last } = wrap ? { first: 0, last: rows.length } : span(rows.length, HEIGHT, top, seen);
  const digits = String(rows.length).length;
  const width = useWidest(rows);
  const cursorId = rows[props.cursor] ? `${props.id}-${props.cursor}` : undefined;
  const at = (event: Event) => Number((event.target as Element).closest<HTMLElement>("[data-row]")?.dataset.row ?? -1);
  return (
    <div
      ref={box}
      class={`tvl-lines${wrap ? " tvl-wrap" : ""}`}
      role="listbox"
      aria-label={props.label}
      aria-multiselectable="true"
      aria-activedescendant={cursorId}
      tabIndex={0}
      style={{ "--digits": `${digits}ch` }}
      onScroll={(e) => setTop(e.currentTarget.scrollTop)}
      onClick={(event) => {
        const row = at(event);
        if (row < 0 || String(getSelection())) return; // text was selected, to be copied
        if ((event.target as Element).closest("[data-fold]")) props.list.fold(row);
        else props.onPick(row, event);
      }}
      onPointerOver={(event) => {
        const row = rows[at(event)];
        props.onHover((row?.kind === "line" && row.line.id) || "");
      }}
      onPointerLeave={() => props.onHover("")}
    >
      <div class="tvl-lines-all" role="presentation" style={wrap ? undefined : { minWidth: `calc(${width + digits}ch + 90px)` }}>
        <div role="presentation" style={{ height: `${first * HEIGHT}px` }} />
        {rows.slice(first, last).map((row, i) => (
          <Row key={row.key} row={row} at={first + i} props={props} />
        ))}
        <div role="presentation" style={{ height: `${(rows.length - last) * HEIGHT}px` }} />
      </div>
    </div>
  );
}

function Row({ row, at, props }: { row: Shown; at: number; props: Props }) {
  const shared = {
    id: `${props.id}-${at}`,
    role: "option",
    "data-row": at,
    "aria-posinset": at + 1,
    "aria-setsize": props.list.rows.length,
  } as const;
  const here = at === props.cursor ? " tvl-cursor" : "";
  if (row.kind === "gap")
    return (
      <div {...shared} class={`tvl-line tvl-gap${here}`} aria-selected="false">
        <span>⋯ {row.count} lines without a change</span>
      </div>
    );
  const { line, number, sign, hides } = row;
  const selected = line.id !== undefined && props.selected.has(line.id);
  const classes = [`tvl-line tvl-line-${SIGNS[sign]}${here}`];
  if (selected) classes.push("tvl-line-selected");
  if (line.id !== undefined && line.id === props.hover) classes.push("tvl-line-hover");
  const fresh = line.s !== undefined && line.s > 0 && line.s === props.at;
  const foldable = hides > 0 || props.list.canFold(at);
  return (
    <div {...shared} class={classes.join(" ")} aria-selected={selected} title={line.why} aria-label={line.t ? undefined : "blank"}>
      <span class="tvl-line-number" aria-hidden="true">
        {number || ""}
      </span>
      <span class={`tvl-line-step${fresh ? " tvl-line-fresh" : ""}`} title={line.s ? props.stepTitle(line.s) : undefined}>
        {line.s ? `s${line.s}` : ""}
      </span>
      <span class="tvl-line-sign" aria-label={sign === " " ? undefined : SIGNS[sign]}>
        {sign === "-" ? "−" : sign}
      </span>
      <span class="tvl-line-fold" data-fold={foldable || undefined} aria-hidden="true">
        {foldable ? (hides ? "▸" : "▾") : ""}
      </span>
      <code style={{ "--depth": line.d }}>
        <LineText line={line} search={props.search} />
        {hides > 0 && <span class="tvl-hides"> ⋯ {hides} lines</span>}
      </code>
    </div>
  );
}

const SIGNS = { " ": "kept", "+": "added", "-": "removed", "~": "changed" };

/** Characters of the longest line, so that scrolling sideways does not jump with what is seen. */
function useWidest(rows: Shown[]): number {
  const kept = useRef<{ rows: Shown[]; width: number }>({ rows: [], width: 0 });
  if (kept.current.rows !== rows) {
    let width = 0;
    for (const row of rows) if (row.kind === "line") width = Math.max(width, row.line.t.length + 2 * row.line.d);
    kept.current = { rows, width };
  }
  return kept.current.width;
}

export function show(box: HTMLElement | null, row: number): void {
  if (box && row >= 0) box.scrollTop = reveal(row, HEIGHT, box.scrollTop, box.clientHeight);
}
