// A small lab for tests and for looking at: a matmul after three steps, and a kernel that answers from tables.
import type { Host, Trait } from "../host";
import type { Action, Card, DiffLine, Document, Frame, History, Line, Metrics, Reply, Request, Row, State } from "../payload";

const card = (title: string, text: string, more: Partial<Card> = {}): Card => ({
  title, text, where: [], clash: "", moves: [], legal: [], hint: "", code: "", ...more,
});

const loop = (name: string, level: number, n: number, more: Partial<Row> = {}): Row => ({
  id: `C.${name}`, kind: "loop", level, stage: "C", name: name.replace(".", "_"), extent: String(n), n, tail: "", reduce: name.startsWith("k"),
  mark: "", chips: [], step: 0, spoken: `loop ${name}, extent ${n}`, ...more,
});

const stage = (id: string, extent: string, level = 0, chips: string[] = []): Row => ({
  id, kind: "stage", level, stage: id, name: id, extent, n: null, tail: "", reduce: false, mark: "", chips, step: 0, spoken: `stage ${id}, ${extent}`,
});

const input = (id: string): Row => ({ ...stage(id, "[512, 512] float32"), kind: "input", spoken: `input ${id}` });

const TREES: Row[][] = [
  [stage("C", "[512, 512] float32"), loop("i", 1, 512), loop("j", 2, 512), loop("k", 3, 512), input("A"), input("B")],
  [
    stage("C", "[512, 512] float32"), loop("i.outer", 1, 16, { step: 1 }), loop("j.outer", 2, 16, { step: 1 }), loop("i.inner", 3, 32, { step: 1 }),
    loop("j.inner", 4, 32, { step: 1 }), loop("k", 5, 512), input("A"), input("B"),
  ],
  [
    stage("C", "[512, 512] float32"), loop("i.outer", 1, 16, { step: 1 }), loop("j.outer", 2, 16, { step: 1 }), loop("k", 3, 512, { step: 2 }),
    loop("i.inner", 4, 32, { step: 2 }), loop("j.inner", 5, 32, { step: 2 }), input("A"), input("B"),
  ],
  [
    stage("C", "[512, 512] float32"), loop("i.outer", 1, 16, { step: 1 }), loop("j.outer", 2, 16, { step: 1 }), loop("k", 3, 512, { step: 2 }),
    loop("i.inner", 4, 32, { step: 2 }), loop("j.inner", 5, 32, { step: 3, mark: "vectorized", chips: ["vec 32"], spoken: "loop j inner, extent 32, vectorized, step 3" }),
    input("A"), input("B"),
  ],
];

const WORDS = /\b(for|in|range|vectorized|parallel|if)\b|\b\d+\b|#.*$/g;

function line(d: number, t: string, id?: string, s?: number): Line {
  const k = [...t.matchAll(WORDS)].map((m): [number, number, string] => {
    const kind = m[0].startsWith("#") ? "comment" : /^\d/.test(m[0]) ? "number" : /^(vec|par)/.test(m[0]) ? "mark" : "word";
    return [m.index, m.index + m[0].length, kind];
  });
  return { d, t, ...(k.length && { k }), ...(id && { id }), ...(s && { s }) };
}

function loopsOf(tree: Row[]): Line[] {
  const loops = tree.filter((row) => row.kind === "loop");
  const lines = loops.map((row, d) => line(d, `for ${row.name} in ${row.mark || "range"}(${row.extent}):`, row.id, row.step));
  const init = lines.findIndex((l) => l.id === "C.k");
  lines.splice(init, 0, line(init, "C[i, j] = 0.0  # first", "C", 0));
  lines.push(line(loops.length, "C[i, j] += A[i, k] * B[k, j]", "C", 0));
  return lines;
}

function metricsOf(tree: Row[], step: number): Metrics {
  const loops = tree.filter((row) => row.kind === "loop");
  return {
    flops: 2 * 512 ** 3, read: (1 << 29) / (step + 1), written: 1 << 20, unique: 3 << 20, redundancy: 1, tasks: 1, lanes: step === 3 ? 32 : 1, exact: true, why: "",
    levels: loops.map((row, i) => ({ id: row.id, name: row.name, depth: i, bytes: 3 << Math.max(2, 20 - 3 * i), moved: 3 << Math.max(3, 26 - 4 * i) })),
  };
}

const FRAMES: Frame[] = TREES.map((tree, i) => ({ key: `f${i}`, tree, loops: loopsOf(tree), metrics: metricsOf(tree, i), notes: [] }));

const step = (id: string, label: string, code: string): History["steps"][number] => ({
  id, label, code, status: "ok", reason: "", name: "", note: "", origin: { kind: "cell", label: `cell 7 line ${id}` }, params: [], metrics: null, seconds: null, group: "",
});

const action = (name: string, key: string, sign: Action["sign"], more: Partial<Action> = {}): Action => ({
  name, key, label: name.replaceAll("_", " "), sign, word: { "+": "legal", x: "not legal", "?": "unknown", "=": "no effect" }[sign], reason: "", owes: [],
  act: { primitive: name, args: { axis: { axis: "C.k" } } }, params: [], code: `s[C].${name}(k)`, card: null, help: `${name}: one line of help`, group: "loop", ...more,
});

const DIVISORS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const REFUSED = card("vectorize(k) is not legal", "k is a reduction loop: its iterations depend on each other.", {
  clash: "iterations k=0 and k=1 both update C[0, 0]", where: ["C.k"], code: "vectorize-reduction",
  moves: [
    { text: "vectorize(j_inner)", act: { primitive: "vectorize", args: { axis: { axis: "C.j.inner" } } } },
    { text: "rfactor(k, 8), then vectorize", act: { primitive: "recipe:rfactor", args: {} } },
  ],
});

export const ACTIONS: Action[] = [
  action("split", "s", "+", {
    act: { primitive: "split", args: { parent: { axis: "C.k" }, factor: 16 } },
    params: [{ name: "factor", label: "factor", kind: "factor", value: 16, choices: [...DIVISORS, 3, 5, 6, 7].map((n) => ({ value: n, label: 512 % n ? `${n}, with a tail` : String(n) })) }],
  }),
  action("tile", "t", "x", { reason: "choose two loops of one stage" }),
  action("fuse", "f", "x", { reason: "choose two neighbouring loops" }),
  action("reorder", "r", "+", {
    act: { primitive: "reorder", args: { order: [{ axis: "C.k" }, { axis: "C.i.inner" }] } },
    params: [{ name: "order", label: "order", kind: "axes", value: [{ axis: "C.k" }, { axis: "C.i.inner" }], choices: ["i.outer", "j.outer", "k", "i.inner", "j.inner"].map((n) => ({ value: { axis: `C.${n}` }, label: n.replace(".", "_") })) }],
  }),
  action("unroll", "u", "+"),
  action("vectorize", "v", "x", { reason: "k is a reduction loop: iterations k=0 and k=1 both update C[0, 0]", card: REFUSED }),
  action("parallel", "p", "?", { reason: "could not decide: the index A[p*q] is not affine. No clash found on a small example." }),
  action("bind", "b", "+", { params: [{ name: "thread", label: "thread", kind: "choice", value: "threadIdx.x", choices: ["blockIdx.x", "threadIdx.x", "vthread"].map((v) => ({ value: v, label: v })) }] }),
  action("compute_at", "c", "x", { group: "stage", reason: "C is the output" }),
  action("cache_write", "", "+", { group: "stage", params: [{ name: "scope", label: "scope", kind: "choice", value: "local", choices: ["local", "shared", "global"].map((v) => ({ value: v, label: v })) }] }),
  action("double_buffer", "", "=", { group: "stage", reason: "there is no loop to overlap with" }),
  action("recipe:tile-for-cache", "", "+", { label: "tile for cache", group: "recipe" }),
];

function packed(frames: Frame[]): State["story"] {
  const story: State["story"] = { lines: [], rows: [], levels: [], frames: [] };
  for (const { loops, tree, metrics, ...rest } of frames) {
    const put = <T>(table: T[], items: T[]) => items.map((item) => table.push(item) - 1);
    const levels = put(story.levels, metrics.levels);
    story.frames.push({ ...rest, loops: put(story.lines, loops), tree: put(story.rows, tree), metrics: { ...metrics, levels: [] }, levels });
  }
  return story;
}

export function state(): State {
  const machines = [{ name: "laptop", label: "laptop, 8 cores", lines: ["L1 48 KiB", "L2 1.25 MiB", "L3 24 MiB", "8 cores, AVX2"] }];
  const targets = [{ name: "numba", label: "CPU (Numba)", available: true, why: "" }];
  return {
    head: {
      schema: 1, id: "lab", name: "matmul", title: "matmul 512x512x512 float32", variable: "s", expression: ["C[i, j] += A[i, k] * B[k, j]"], target: "numba", targets,
      machine: "laptop", machines, badge: { sign: "+", text: "legal", items: [] }, time: "not run", spread: "", times_naive: "", calls: "", program: "", busy: "", given: "", looked: 0, start: false,
    },
    history: {
      steps: [step("1", "tile i, j", "s[C].tile(i, j, 32, 32)"), step("2", "reorder", "s[C].reorder(k, ii, ji)"), step("3", "vectorize j_inner", "s[C].vectorize(ji)")],
      cursor: 3, branches: [], start: null, start_seconds: null, undo: "vectorize j_inner", redo: "",
    },
    frame: FRAMES[3]!, selection: ["C.k"], actions: { ids: ["C.k"], frame: "f3", items: ACTIONS },
    runs: { rows: [], comparison: null, ablation: [], options: { target: "numba", threads: 0, repeats: 10, limit: 30, seed: 0, rtol: 1e-5, inputs: "random" } },
    message: { n: 1, text: "Step 3 applied: j_inner is vectorized, 32 lanes.", kind: "good", card: null }, story: packed(FRAMES),
  };
}

const SVG = `<svg width="330pt" height="210pt" viewBox="0 0 330 210" xmlns="http://www.w3.org/2000/svg">
<g class="node" data-id="A"><title>A</title><rect x="20" y="10" width="100" height="44" rx="4" fill="none" stroke="#888"/><text x="70" y="36" text-anchor="middle" font-size="13" fill="currentColor">A</text></g>
<g class="node" data-id="B"><title>B</title><rect x="210" y="10" width="100" height="44" rx="4" fill="none" stroke="#888"/><text x="260" y="36" text-anchor="middle" font-size="13" fill="currentColor">B</text></g>
<g class="edge"><path d="M70 54 L150 140" fill="none" stroke="#888"/><path d="M260 54 L180 140" fill="none" stroke="#888"/></g>
<g class="node" data-id="C"><title>C</title><rect x="115" y="140" width="100" height="52" rx="4" fill="none" stroke="#888"/><text x="165" y="170" text-anchor="middle" font-size="13" fill="currentColor">C</text></g></svg>`;

const python = (): Line[] => [
  line(0, "def matmul(A, B, C):"), line(1, "for i_outer in range(16):", "C.i.outer", 1), line(2, "for j_outer in range(16):", "C.j.outer", 1),
  ...Array.from({ length: 2400 }, (_, i) => line(3, `C[${i}] = A[${i}] * B[${i}]  # generated`)),
];

export function documentOf(): Document {
  return {
    schema: 1, state: state(), sources: [{ kind: "numba", label: "Python", lines: python(), note: "compiled in 0.41 s", error: null }],
    pictures: [{ kind: "graph", svg: SVG, table: { title: "Stages", head: ["stage", "reads"], rows: [["C", "A, B"]], ids: ["C"] }, about: "Boxes are tensors, arrows are reads.", how: "", dot: "digraph { A -> C; B -> C }" }],
  };
}

const moved = (name: string, text: string, better: boolean | null) => ({ name, before: 1, after: 2, text, better });

/** What the answers of the kernel hold, by the kind of request. */
export function answers(of: State): Record<string, (request: Request) => unknown> {
  const diff: DiffLine[] = of.frame.loops.flatMap((l, at): DiffLine[] =>
    l.id === "C.k"
      ? [{ sign: "-", line: l, at: -1 }, { sign: "+", line: line(l.d, "for k_outer in range(32):", "C.k.outer", 4), at }, { sign: "+", line: line(l.d + 1, "for k_inner in range(16):", "C.k.inner", 4), at: at + 1 }]
      : [{ sign: l.d > 3 ? "~" : " ", line: l, at: at + 1 }],
  );
  const next = of.frame.tree.flatMap((row) => (row.id === "C.k" ? [{ ...row, id: "C.k.outer", name: "k_outer", extent: "32" }, { ...row, id: "C.k.inner", name: "k_inner", extent: "16", level: 4 }] : [row]));
  const deltas = [moved("arithmetic", "=", null), moved("bytes moved", "-62 %", true), moved("footprint of k_inner", "12 KiB -> 3 KiB", true), moved("parallel tasks", "1 -> 32", true), moved("vector width", "32 -> 8", false)];
  return {
    preview: ({ act }) => ({ act, sign: Number(act?.args.factor ?? 1) > 0 ? "+" : "x", reason: "", tree: next, diff, deltas, card: Number(act?.args.factor ?? 1) > 0 ? null : card("split(k, 0) is not legal", "the factor must be positive") }),
    explain: ({ ids }) => [
      { id: "C.j.outer", sign: "+", reason: `${ids?.[0]} outside of j_outer`, act: { primitive: "reorder", args: { order: [{ axis: ids?.[0] }, { axis: "C.j.outer" }] } } },
      { id: "C.i.outer", sign: "?", reason: "could not decide whether the iterations may change places", act: { primitive: "reorder", args: {} } },
      { id: "C.i.inner", sign: "+", reason: `${ids?.[0]} inside of i_inner`, act: { primitive: "reorder", args: { order: [{ axis: "C.i.inner" }, { axis: ids?.[0] }] } } },
      { id: "C.j.inner", sign: "x", reason: "j_inner is vectorized: it must stay innermost", act: null },
    ],
    source: ({ what }) => (what ? { kind: what, label: what, lines: python(), note: "compiled in 0.41 s", error: null } : [{ kind: "loops", label: "Loops" }, { kind: "numba", label: "Python" }, { kind: "llvm", label: "LLVM" }, { kind: "asm", label: "Assembly" }]),
    passes: () => ["flatten_storage", "simplify", "vectorize", "unroll"].map((name, i) => ({ name, ms: 0.2 * (4 - i) ** 2, changed: i % 2 === 0, lines: FRAMES[i]!.loops })),
    picture: ({ what }) => (what ? documentOf().pictures[0] : [{ kind: "graph", label: "Graph" }, { kind: "relations", label: "Relations" }, { kind: "metrics", label: "Metrics" }, { kind: "roofline", label: "Roofline" }]),
    frame: ({ cursor }) => ({ frame: FRAMES[cursor ?? 0], diff }),
  };
}

export interface FakeHost extends Host {
  asked: Request[];
  set<K extends Trait>(name: K, value: State[K]): void;
}

/** A host with a kernel behind it that answers at once; `more` replaces answers. */
export function fakeHost(more: Record<string, (request: Request) => unknown> = {}): FakeHost {
  const traits = state();
  const heard = new Map<Trait, Set<() => void>>();
  const table = new Map(Object.entries({ ...answers(traits), ...more }));
  const host: FakeHost = {
    live: true,
    asked: [],

    get: (name) => traits[name],
    set(name, value) {
      traits[name] = value;
      heard.get(name)?.forEach((f) => f());
    },
    on(name, f) {
      heard.set(name, (heard.get(name) ?? new Set()).add(f));
      return () => heard.get(name)?.delete(f);
    },
    async ask(request): Promise<Reply> {
      const asked = { ...request, seq: host.asked.length };
      host.asked.push(asked);
      if (request.kind === "select") {
        host.set("selection", request.ids ?? []);
        host.set("actions", { ...traits.actions, ids: request.ids ?? [] });
      }
      if (request.kind === "jump") {
        const cursor = request.cursor ?? 0;
        const label = (n: number) => traits.history.steps[n]?.label ?? "";
        host.set("history", { ...traits.history, cursor, undo: label(cursor - 1), redo: label(cursor) });
        host.set("frame", FRAMES[cursor]!);
        host.set("actions", { ...traits.actions, frame: FRAMES[cursor]!.key });
      }
      const data = table.get(request.kind)?.(asked) ?? null;
      const refused = data as { refused?: Card } | null;
      return refused?.refused ? { re: asked.seq, ok: false, data: null, card: refused.refused } : { re: asked.seq, ok: true, data, card: null };
    },
    dispose() {},
  };
  return host;
}
