// Where the texts of the code pane come from: the frame, the kernel, or what a saved document brings.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Card, DiffLine, Frame, Line, Pass, Reply, SourceText } from "../payload";
import type { Store } from "../store";
import { difference } from "./rows";

export interface Kind {
  kind: string;
  label: string;
}

export const LOOPS: Kind = { kind: "loops", label: "Loops" };
export const PASSES: Kind = { kind: "passes", label: "Passes" };

/** The texts that there are for this schedule's target. */
export function useKinds(store: Store): Kind[] {
  const [kinds, setKinds] = useState<Kind[]>([]);
  const target = store.head.value.target;
  const acting = store.acting.value;
  useEffect(() => {
    let wanted = true;
    if (acting) {
      void store.ask({ kind: "source", what: "" }).then((reply) => wanted && reply.ok && setKinds(listed(reply.data)));
    } else if (!kinds.length) setKinds(store.host.document?.sources ?? []);
    return () => {
      wanted = false;
    };
  }, [store, target, acting]);
  const others = kinds.filter((k) => k.kind !== "loops");
  return [LOOPS, ...others, ...(store.live ? [PASSES] : [])];
}

function listed(data: unknown): Kind[] {
  return Array.isArray(data) ? data.filter((k): k is Kind => typeof k?.kind === "string" && typeof k?.label === "string") : [];
}

export interface Text {
  lines: Line[];
  note: string;
  error: Card | null;
  /** What is shown is of another step: the right one is on its way. */
  stale: boolean;
}

const KEPT = 24; // texts of steps looked at lately

/** The text of a kind for the step that is looked at. */
export function useText(store: Store, kind: string): Text {
  const frame = store.shown.value;
  const key = `${frame.key}\n${store.head.value.target}\n${kind}`;
  const answer = useAnswer<SourceText>(store, kind === "loops" || kind === "passes" ? "" : key, { kind: "source", what: kind });
  if (kind === "loops") return { lines: frame.loops, note: frame.notes.join("\n"), error: frame.error ?? null, stale: false };
  if (!store.live) return saved(store, kind);
  const { lines = [], note = "", error = null } = answer.data ?? {};
  return { lines, note, error: error ?? answer.card, stale: answer.stale };
}

function saved(store: Store, kind: string): Text {
  const text = store.host.document?.sources.find((source) => source.kind === kind);
  const only = store.only.value;
  if (only) return { lines: [], note: `This text was ${only}; the loops are there for every step.`, error: null, stale: false };
  return { lines: text?.lines ?? [], note: text?.note ?? "", error: text?.error ?? null, stale: false };
}

export function usePasses(store: Store): { passes: Pass[]; card: Card | null; stale: boolean } {
  const key = `${store.shown.value.key}\n${store.head.value.target}\npasses`;
  const { data, card, stale } = useAnswer<Pass[]>(store, key, { kind: "passes" });
  return { passes: Array.isArray(data) ? data : [], card, stale };
}

interface Answer<T> {
  data: T | null;
  card: Card | null;
  stale: boolean;
}

/** The kernel's answer for a key; until it is there the one before is kept, marked stale. Key "": nothing is asked. */
export function useAnswer<T>(
  store: Store,
  key: string,
  request: { kind: "source" | "passes" | "picture"; what?: string },
): Answer<T> {
  const kept = useRef(new Map<string, Reply>());
  const before = useRef<{ what: string; reply: Reply } | null>(null);
  const [, again] = useState(0);
  const what = `${request.kind}\n${request.what ?? ""}`;
  const have = kept.current.get(key);
  useEffect(() => {
    if (!key || have || !store.acting.value) return;
    let wanted = true;
    void store.latest(request).then((reply) => {
      if (!reply || !wanted) return;
      kept.current.set(key, reply);
      if (kept.current.size > KEPT) kept.current.delete(kept.current.keys().next().value!);
      again((n) => n + 1);
    });
    return () => {
      wanted = false;
    };
  }, [store, key, !have]);
  if (have) before.current = { what, reply: have };
  const reply = have ?? (before.current?.what === what ? before.current.reply : null);
  const bad = reply && !reply.ok ? (reply.card ?? LOST) : null;
  return { data: reply?.ok ? (reply.data as T) : null, card: bad, stale: !have && key !== "" && store.acting.value };
}

const LOST: Card = {
  title: "",
  text: "There is no answer for this.",
  where: [],
  clash: "",
  moves: [],
  legal: [],
  hint: "",
  code: "",
};

/** What the shown loops are compared with; a number is a step. */
export type Base = "none" | "previous" | "pinned" | number;

/** The shown loops beside those of another step; null while there is nothing to show. */
export function useDiff(store: Store, base: Base): DiffLine[] | null {
  const frame = store.shown.value;
  const at = store.at.value;
  const to = base === "previous" ? Math.max(0, at - 1) : base;
  const [diff, setDiff] = useState<{ for: string; lines: DiffLine[] } | null>(null);
  const wanted = to === "none" ? "" : `${frame.key}\n${to}`;
  useEffect(() => {
    if (to === "none") return;
    let here = true;
    void compared(store, to, frame).then((lines) => here && setDiff(lines && { for: wanted, lines }));
    return () => {
      here = false;
    };
  }, [store, wanted]);
  return wanted && diff?.for === wanted ? diff.lines : null;
}

async function compared(store: Store, to: "pinned" | number, frame: Frame): Promise<DiffLine[] | null> {
  if (store.acting.value) {
    const where = to === "pinned" ? { what: "pinned" } : { cursor: to };
    const reply = await store.latest({ kind: "frame", text: "diff", ...where });
    const diff = (reply?.data as { diff?: DiffLine[] } | null)?.diff;
    if (!reply || Array.isArray(diff)) return diff ?? null;
  }
  const { frames, lines } = store.story.value;
  const old = to === "pinned" ? undefined : frames[to];
  return old
    ? difference(
        old.loops.map((n) => lines[n]!),
        frame.loops,
      )
    : null;
}
