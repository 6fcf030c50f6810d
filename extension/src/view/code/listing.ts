// The rows that a text is shown as: folded, or as a diff; what is found in them; and the line that keys act on.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { toggled } from "../tree/outline";
import type { DiffLine, Line } from "../payload";
import type { Store } from "../store";
import { found } from "./find";
import { HEIGHT, show } from "./lines";
import { bodyEnd, changes, folded, type Shown } from "./rows";

export type Box = { current: HTMLDivElement | null };

export interface Listing {
  rows: Shown[];
  /** Rows that hold what is searched. */
  hits: number[];
  canFold(row: number): boolean;
  /** Folds and opens in turn, or as `shut` says. */
  fold(row: number, shut?: boolean): void;
  /** Shows the lines of a gap. */
  open(row: number): void;
}

export function useListing(lines: Line[], diff: DiffLine[] | null, search: string, box: Box): Listing {
  const [closed, setClosed] = useState(NONE);
  const [opened, setOpened] = useState(NONE_OPEN);
  useEffect(() => setOpened((now) => (now.size ? NONE_OPEN : now)), [diff]);
  const long = !!diff && diff.length * HEIGHT > seen(box);
  const rows = useMemo(
    () => (diff ? changes(diff, opened, long) : folded(lines, search ? NONE : closed)), // a search looks into folded loops too
    [lines, diff, closed, opened, long, !search],
  );
  const hits = useMemo(
    () =>
      found(
        rows.map((row) => (row.kind === "line" ? row.line : NOTHING)),
        search,
      ),
    [rows, search],
  );
  const canFold = (at: number) => {
    const row = rows[at];
    return !diff && row?.kind === "line" && bodyEnd(lines, row.number - 1) > row.number;
  };
  const fold = (at: number, shut?: boolean) => {
    const key = rows[at]?.key ?? "";
    if (canFold(at) && closed.has(key) !== shut) setClosed(new Set(toggled([...closed], key)));
  };
  const open = (at: number) => {
    const row = rows[at];
    if (row?.kind === "gap") setOpened(new Set([...opened, row.from]));
  };
  return { rows, hits, canFold, fold, open };
}

const NOTHING: Line = { d: 0, t: "" };
const NONE: ReadonlySet<string> = new Set();
const NONE_OPEN: ReadonlySet<number> = new Set();

export const seen = (box: Box) => box.current?.clientHeight || 400;

/** What was chosen elsewhere comes into view. */
export function useReveal(store: Store, rows: Shown[], box: Box, off: boolean): void {
  const selection = store.selection.value;
  useEffect(() => {
    if (off || box.current?.contains(document.activeElement)) return;
    show(
      box.current,
      rows.findIndex((row) => row.kind === "line" && row.line.id !== undefined && selection.includes(row.line.id)),
    );
  }, [selection]);
}

/** A preview may be shorter than the text: afterwards the place in the text is the same again. */
export function useKeepScroll(box: Box, preview: boolean): void {
  const kept = useRef(0);
  if (!preview && box.current) kept.current = box.current.scrollTop;
  useLayoutEffect(() => {
    if (box.current && !preview) box.current.scrollTop = kept.current;
  }, [preview]);
}
