// A lab as the kernel would send it, made by hand: for tests, and for the page in dev/.
import type {
  Action, Comparison, Document, Drawer, Frame, Head, History, Line, Metrics, Param, Row, Run, Runs, State, StepInfo, Story, Typed,
} from "../payload";

export function metrics(over: Partial<Metrics> = {}): Metrics {
  return {
    flops: 268_435_456, read: 1_610_612_736, written: 536_870_912, unique: 3_145_728, redundancy: 1, tasks: 1, lanes: 1,
    levels: [
      { id: "C.i", name: "i", depth: 0, bytes: 3_145_728, moved: 2_147_483_648 },
      { id: "C.j", name: "j", depth: 1, bytes: 1_052_672, moved: 4_194_304 },
      { id: "C.k", name: "k", depth: 2, bytes: 4_100, moved: 8_192 },
    ],
    exact: true, why: "", ...over,
  };
}

export function row(over: Partial<Row> & { id: string }): Row {
  return {
    kind: "loop", level: 1, stage: "C", name: over.id.replace(/^C\./, "").replace(".", "_"), extent: "16", n: 16, tail: "",
    reduce: false, mark: "", chips: [], step: 0, spoken: `loop ${over.id}`, ...over,
  };
}

const factor = (name: string, label: string, value: number): Param => ({
  name, label, kind: "factor", value, least: 1, most: 512,
  choices: [2, 4, 8, 16, 32, 64, 128, 256].map((v) => ({ value: v, label: String(v) })),
});

export function step(over: Partial<StepInfo> & { id: string; label: string }): StepInfo {
  return {
    code: "s[C]....", status: "ok", reason: "", name: "", note: "", origin: { kind: "widget", label: "widget" },
    params: [], metrics: metrics(), seconds: null, group: "", ...over,
  };
}

const STEPS: StepInfo[] = [
  step({
    id: "e1", label: "tile i, j", code: "io, jo, ii, ji = s[C].tile(i, j, 16, 32)", seconds: 0.131,
    origin: { kind: "cell", label: "cell 7 line 4" },
    params: [factor("x_factor", "i factor", 16), factor("y_factor", "j factor", 32)], metrics: metrics({ read: 1.6e9 }),
  }),
  step({
    id: "e2", label: "split k", code: "ko, ki = s[C].split(k, factor=4)", params: [factor("factor", "factor", 4)],
    origin: { kind: "cell", label: "cell 7 line 5" },
  }),
  step({
    id: "e3", label: "reorder", code: "s[C].reorder(io, jo, ko, ii, ki, ji)", seconds: 0.0312, group: "recipe tile for cache",
    metrics: metrics({ read: 6.1e8, written: 3.3e8 }),
  }),
  step({
    id: "e4", label: "parallel io", code: "s[C].parallel(io)", seconds: 0.0164, group: "recipe tile for cache",
    metrics: metrics({ read: 6.1e8, tasks: 32 }),
  }),
  step({
    id: "e5", label: "vectorize ji", code: "s[C].vectorize(ji)", seconds: 0.0061, note: "8 lanes of float32 fit", name: "fast",
    metrics: metrics({ read: 6.1e8, tasks: 32, lanes: 32 }),
  }),
  step({
    id: "e6", label: "parallel io", code: "s[C].parallel(io)", status: "same", reason: "io is parallel already",
    metrics: metrics({ read: 6.1e8, tasks: 32, lanes: 32 }),
  }),
  step({
    id: "e7", label: "unroll <b>ki</b> 🚀", code: "s[C].unroll(kii)", status: "parked",
    reason: "There is no loop C.k.inner.inner after step 2: it was split by step 9, which is gone.", metrics: null,
  }),
];

export function history(over: Partial<History> = {}): History {
  return {
    steps: STEPS, cursor: 6, start: metrics(), start_seconds: 0.151, undo: "parallel io", redo: "",
    branches: [
      { id: "b0", name: "main", steps: 7, current: true },
      { id: "b1", name: "branch 1", steps: 4, current: false },
    ],
    ...over,
  };
}

const line = (d: number, t: string, over: Partial<Line> = {}): Line => {
  const k: [number, number, string][] = [];
  for (const m of t.matchAll(/\b(for|in|range|parallel|vectorized)\b|\b\d+\b/g))
    k.push([m.index, m.index + m[0].length, /\d/.test(m[0]) ? "number" : /parallel|vector/.test(m[0]) ? "mark" : "word"]);
  return { d, t, k, ...over };
};

const LOOPS: Line[] = [
  line(0, "for io in parallel(32):", { id: "C.i.outer", s: 4 }),
  line(1, "for jo in range(16):", { id: "C.j.outer", s: 1 }),
  line(2, "for ii in range(16):", { id: "C.i.inner", s: 1 }),
  line(3, "for ji in vectorized(32):", { id: "C.j.inner", s: 5 }),
  line(4, "C[io*16 + ii, jo*32 + ji] = 0.0", { id: "C" }),
  line(2, "for ko in range(128):", { id: "C.k.outer", s: 2 }),
  line(3, "for ii in range(16):", { id: "C.i.inner", s: 1 }),
  line(4, "for ki in range(4):", { id: "C.k.inner", s: 2 }),
  line(5, "for ji in vectorized(32):", { id: "C.j.inner", s: 5 }),
  line(6, "C[io*16 + ii, jo*32 + ji] += A[io*16 + ii, ko*4 + ki] * B[ko*4 + ki, jo*32 + ji]", { id: "C" }),
];

const FIRST: Line[] = [
  line(0, "for i in range(512):", { id: "C.i" }),
  line(1, "for j in range(512):", { id: "C.j" }),
  line(2, "C[i, j] = 0.0", { id: "C" }),
  line(2, "for k in range(512):", { id: "C.k" }),
  line(3, "C[i, j] += A[i, k] * B[k, j]", { id: "C" }),
];

const INPUTS: Row[] = [
  row({ id: "A", kind: "input", level: 0, stage: "A", name: "A", extent: "[512, 512] float32", n: null }),
  row({ id: "B", kind: "input", level: 0, stage: "B", name: "B", extent: "[512, 512] float32", n: null }),
  row({ id: "C", kind: "stage", level: 0, stage: "C", name: "C", extent: "[512, 512] float32", n: null }),
];

const TREE: Row[] = [
  ...INPUTS,
  row({ id: "C.i.outer", level: 1, name: "io", extent: "32", n: 32, mark: "parallel", chips: ["par"], step: 4 }),
  row({ id: "C.j.outer", level: 2, name: "jo", step: 1 }),
  row({ id: "C.k.outer", level: 3, name: "ko", extent: "128", n: 128, reduce: true, chips: ["sum"], step: 2 }),
  row({ id: "C.i.inner", level: 4, name: "ii", step: 1 }),
  row({ id: "C.k.inner", level: 5, name: "ki", extent: "4", n: 4, reduce: true, chips: ["sum"], step: 2 }),
  row({ id: "C.j.inner", level: 6, name: "ji", extent: "32", n: 32, mark: "vectorized", chips: ["vec 32"], step: 5 }),
];

const FIRST_TREE: Row[] = [
  ...INPUTS,
  row({ id: "C.i", level: 1, extent: "512", n: 512 }),
  row({ id: "C.j", level: 2, extent: "512", n: 512 }),
  row({ id: "C.k", level: 3, extent: "512", n: 512, reduce: true, chips: ["sum"] }),
];

export function frame(over: Partial<Frame> = {}): Frame {
  return { key: "f6", tree: TREE, loops: LOOPS, metrics: metrics({ read: 6.1e8, tasks: 32, lanes: 32 }), notes: [], ...over };
}

export function story(): Story {
  const lines = [...FIRST, ...LOOPS];
  const rows = [...FIRST_TREE, ...TREE];
  const first = { key: "f0", loops: FIRST.map((_, i) => i), tree: FIRST_TREE.map((_, i) => i), metrics: metrics({ levels: [] }), levels: [0, 1], notes: [] };
  const last = (n: number) => ({
    key: `f${n}`, loops: LOOPS.map((_, i) => i + FIRST.length), tree: TREE.map((_, i) => i + FIRST_TREE.length), metrics: metrics({ levels: [] }), levels: [0, 1], notes: [],
  });
  return { lines, rows, levels: metrics().levels.slice(0, 2), frames: [first, ...STEPS.map((_, i) => last(i + 1))] };
}

export function run(over: Partial<Run> & { id: string }): Run {
  return {
    when: "14:03:22", title: "s, step 5 vectorize ji", step: "e5", trace: "a1b2", target: "numba", size: "512×512×512 float32",
    threads: 2, state: "done", progress: 1, seconds: 0.0061, spread: 0.0003,
    times: [0.0061, 0.0062, 0.006, 0.0066, 0.0061, 0.0059, 0.0063, 0.0061, 0.0071], gflops: 44, check: "ok",
    worst: "largest difference 3.1e-5, allowed 5.1e-3 (512 additions in another order)", wrong: null, compile: 0.41,
    baseline: 0.0049, baseline_name: "NumPy", error: null, machine: "2 cores, AVX-512", pinned: false, stale: false, ...over,
  };
}

const COMPARISON: Comparison = {
  a: "r1", b: "r3", state: "done", verdict: "faster", text: "step 5 vectorize ji is 5.1× faster than step 3 reorder (95 % interval 4.9 to 5.4; 30 interleaved rounds)",
  ratio: 5.1, low: 4.9, high: 5.4, rounds: 30, explained: true, model: "All together the model expects 4.2×; measured was 5.1×.", error: null,
  reasons: [
    { text: "The innermost loop computes 32 elements at a time, before one.", number: "1 → 32 lanes", show: "C.j.inner", how: "modelled" },
    { text: "The outer loop runs on all cores.", number: "1 → 32 tasks", show: "C.i.outer", how: "modelled" },
  ],
  diff: [
    { sign: "~", at: 0, line: line(0, "for io in parallel(32):") },
    { sign: " ", at: 1, line: line(1, "for jo in range(16):") },
    { sign: "-", at: -1, line: line(5, "for ji in range(32):") },
    { sign: "+", at: 8, line: line(5, "for ji in vectorized(32):") },
  ],
  table: {
    title: "Numbers of both", head: ["", "A", "B"],
    rows: [["time", "31.2 ms", "6.1 ms"], ["arithmetic", "268 M", "268 M"], ["bytes moved", "910 MiB", "897 MiB"], ["parallel tasks", "1", "32"], ["vector width", "1", "32"]],
  },
};

export function runs(over: Partial<Runs> = {}): Runs {
  return {
    rows: [
      run({ id: "r4", when: "14:05:10", title: "s, step 6 parallel io", state: "running", progress: 0.4, seconds: null, spread: null, times: [], gflops: null, check: "", worst: "", compile: 0.38, baseline: null }),
      run({ id: "r3", pinned: true }),
      run({
        id: "r2", when: "14:02:40", title: "s, step 4 parallel io", check: "wrong", seconds: null, times: [], gflops: null, stale: true,
        worst: "largest difference 61.3, allowed 5.1e-3",
        wrong: { tensor: "C", index: [16, 31], got: "118.25", expected: "129.5", count: 8192, writers: ["io=1 ii=0 jo=0 ji=31 ko=0 ki=0", "io=1 ii=0 jo=0 ji=31 ko=127 ki=3"], note: "Written 512 times, once per k." },
      }),
      run({ id: "r1", when: "13:59:02", title: "s, step 3 reorder", seconds: 0.0312, spread: 0.002, times: [0.031, 0.0312, 0.033, 0.0305, 0.0341], gflops: 8.6 }),
      run({ id: "r0", when: "13:58:11", title: "s, start", state: "failed", seconds: null, times: [], gflops: null, check: "", worst: "",
        error: { title: "The run took longer than 10 s and was ended", text: "The kernel is unharmed.", where: [], clash: "", moves: [], legal: [], hint: "Raise the limit in the options.", code: "" } }),
    ],
    comparison: COMPARISON,
    ablation: [
      { id: "e5", text: "worth 2.7×", ratio: 2.7, low: 2.5, high: 2.9 },
      { id: "e4", text: "worth 1.9×", ratio: 1.9, low: 1.8, high: 2.0 },
      { id: "e2", text: "cannot be removed: step 3 needs it", ratio: null, low: null, high: null },
    ],
    options: { target: "numba", threads: 0, repeats: 10, limit: 10, seed: 0, rtol: 1e-5, inputs: "random" },
    ...over,
  };
}

export function head(over: Partial<Head> = {}): Head {
  return {
    schema: 1, id: "lab1", name: "lab 1", title: "matmul 512×512×512 float32", variable: "s",
    expression: ["C[i, j] = sum(A[i, k] * B[k, j], k)"], target: "numba",
    targets: [
      { name: "numba", label: "CPU (Numba)", available: true, why: "readable Python" },
      { name: "llvm", label: "CPU (LLVM)", available: true, why: "fastest to compile" },
      { name: "cuda", label: "CUDA", available: false, why: "no CUDA device found" },
    ],
    machine: "laptop",
    machines: [
      { name: "laptop", label: "laptop-x86", lines: ["4 cores, AVX2", "L1 48 KiB, L2 1.25 MiB"] },
      { name: "server", label: "server-x86", lines: ["32 cores, AVX-512", "L1 32 KiB, L2 1 MiB"] },
    ],
    badge: { sign: "+", text: "legal", items: ["Checked to step 6: every iteration keeps its order of reads and writes."] },
    time: "6.1 ms", spread: "±2 %", times_naive: "24.8× naive",
    calls: "io, jo, ii, ji = s[C].tile(i, j, 16, 32)\nko, ki = s[C].split(k, factor=4)\ns[C].reorder(io, jo, ko, ii, ki, ji)\ns[C].parallel(io)\ns[C].vectorize(ji)\n",
    program: "import tvmlab as tvm\nfrom tvmlab import te\n\nA = te.placeholder((512, 512), name=\"A\")\n", busy: "", given: "", looked: 0, start: false, ...over,
  };
}

const action = (name: string, key: string, sign: Action["sign"], reason = "", group: Action["group"] = "loop"): Action => ({
  name, key, label: name.replaceAll("_", " "), sign, word: { "+": "legal", x: "not legal", "?": "unknown", "=": "no effect" }[sign],
  reason, owes: [], act: sign === "x" ? null : { primitive: name, args: {} }, params: name === "split" ? [factor("factor", "factor", 16)] : [],
  code: `s[C].${name}(ko)`, help: "", group,
  card: sign === "x" ? { title: `${name} ko is not legal`, text: reason, where: ["C.k.outer"], clash: "", moves: [{ text: "vectorize ji", act: { primitive: "vectorize", args: {} } }], legal: [], hint: "", code: "TL-E014" } : null,
});

export function state(over: Partial<State> = {}): State {
  return {
    head: head(), history: history(), frame: frame(), selection: ["C.k.outer"], runs: runs(), story: story(),
    actions: {
      ids: ["C.k.outer"], frame: "f6",
      items: [
        action("split", "s", "+"), action("tile", "t", "x", "needs two loops"), action("fuse", "f", "x", "needs two loops"),
        action("reorder", "r", "+"), action("unroll", "u", "+"),
        action("vectorize", "v", "x", "ko is a reduction loop: iterations ko=0 and ko=1 both update C[0, 0]."),
        action("parallel", "p", "x", "ko is a reduction loop"), action("compute_at", "c", "?", "could not decide", "stage"),
        action("tile for cache", "", "+", "", "recipe"),
      ],
    },
    message: { n: 6, text: "Step 6 applied: it changes nothing, io is parallel already.", kind: "info", card: null }, ...over,
  };
}

export const DRAWER: Drawer = {
  current: "matmul", example: "A = te.placeholder((64, 64), name=\"A\")\nB = te.compute((64, 64), lambda i, j: A[i, j] + 1, name=\"B\")\n",
  workloads: [
    {
      name: "matmul", label: "Matrix product", text: "C[i, j] = sum over k of A[i, k] * B[k, j]",
      fields: [
        { name: "n", label: "rows n", value: 512, kind: "int", choices: [] }, { name: "m", label: "columns m", value: 512, kind: "int", choices: [] },
        { name: "k", label: "depth k", value: 512, kind: "int", choices: [] },
        { name: "dtype", label: "type", value: "float32", kind: "choice", choices: ["float32", "float64", "int32"] },
      ],
      presets: [{ name: "small", values: { n: 64, m: 64, k: 64 } }, { name: "large", values: { n: 1024, m: 1024, k: 1024 } }],
    },
    { name: "conv2d", label: "Convolution, 2-D", text: "images, channels, a small window", fields: [{ name: "padded", label: "padded", value: true, kind: "bool", choices: [] }], presets: [] },
    { name: "softmax", label: "Softmax", text: "along the last axis", fields: [], presets: [] },
  ],
};

export const TYPED_WRONG: Typed = { ok: false, tensors: [], error: "There is no tensor B here: A is known.", line: 2, start: 38, end: 42 };

export function document(over: Partial<State> = {}): Document {
  return { schema: 1, state: state(over), pictures: [], sources: [], save: {} };
}
