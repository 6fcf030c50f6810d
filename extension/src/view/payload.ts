// Made from tvmlab/view/payload.py by `python -m tests.payloads`: change it there.

export const SCHEMA = 1;

export interface Row {
  id: string;
  kind: "stage" | "loop" | "input";
  level: number;
  stage: string;
  name: string;
  extent: string;
  n: number | null;
  tail: string;
  reduce: boolean;
  mark: string;
  chips: string[];
  step: number;
  spoken: string;
}

export interface Line {
  d: number;
  t: string;
  k?: [number, number, string][];
  id?: string;
  s?: number;
  why?: string;
}

export interface Level {
  id: string;
  name: string;
  depth: number;
  bytes: number;
  moved: number;
}

export interface Metrics {
  flops: number | null;
  read: number | null;
  written: number | null;
  unique: number | null;
  redundancy: number | null;
  tasks: number | null;
  lanes: number | null;
  levels: Level[];
  exact: boolean;
  why: string;
}

export interface Frame {
  key: string;
  tree: Row[];
  loops: Line[];
  metrics: Metrics;
  notes: string[];
  error?: Card;
}

export interface Origin {
  kind: "widget" | "cell" | "file";
  label: string;
}

export interface StepInfo {
  id: string;
  label: string;
  code: string;
  status: "ok" | "parked" | "same";
  reason: string;
  name: string;
  note: string;
  origin: Origin;
  params: Param[];
  metrics: Metrics | null;
  seconds: number | null;
  group: string;
}

export interface Branch {
  id: string;
  name: string;
  steps: number;
  current: boolean;
}

export interface History {
  steps: StepInfo[];
  cursor: number;
  branches: Branch[];
  start: Metrics | null;
  start_seconds: number | null;
  undo: string;
  redo: string;
}

export interface Story {
  lines: Line[];
  rows: Row[];
  levels: Level[];
  frames: PackedFrame[];
}

export interface PackedFrame {
  key: string;
  loops: number[];
  tree: number[];
  metrics: Metrics;
  levels: number[];
  notes: string[];
}

export interface Act {
  primitive: string;
  args: Record<string, unknown>;
}

export interface Choice {
  value: unknown;
  label: string;
  sign?: "+" | "x" | "?" | "=";
}

export interface Param {
  name: string;
  label: string;
  kind: "factor" | "int" | "choice" | "axes" | "bool" | "text";
  value: unknown;
  choices: Choice[];
  least?: number;
  most?: number;
}

export interface Move {
  text: string;
  act: Act;
}

export interface Card {
  title: string;
  text: string;
  where: string[];
  clash: string;
  moves: Move[];
  legal: string[];
  hint: string;
  code: string;
}

export interface Action {
  name: string;
  key: string;
  label: string;
  sign: "+" | "x" | "?" | "=";
  word: string;
  reason: string;
  owes: string[];
  act: Act | null;
  params: Param[];
  code: string;
  card: Card | null;
  help: string;
  group: "loop" | "stage" | "recipe";
}

export interface Actions {
  ids: string[];
  frame: string;
  items: Action[];
}

export interface Delta {
  name: string;
  before: number | null;
  after: number | null;
  text: string;
  better: boolean | null;
}

export interface Preview {
  act: Act;
  sign: "+" | "x" | "?" | "=";
  reason: string;
  tree: Row[];
  diff: DiffLine[];
  deltas: Delta[];
  card: Card | null;
}

export interface Drop {
  id: string;
  sign: "+" | "x" | "?" | "=";
  reason: string;
  act: Act | null;
}

export interface DiffLine {
  sign: " " | "+" | "-" | "~";
  line: Line;
  at: number;
  was?: string;
}

export interface SourceText {
  kind: string;
  label: string;
  lines: Line[];
  note: string;
  error: Card | null;
}

export interface Pass {
  name: string;
  ms: number;
  changed: boolean;
  lines: Line[];
}

export interface Table {
  title: string;
  head: string[];
  rows: string[][];
  ids?: string[];
}

export interface Picture {
  kind: string;
  svg: string;
  table: Table;
  about: string;
  how: "" | "measured" | "modelled" | "simulated";
  dot?: string;
  params?: Param[];
  note?: string;
}

export interface Wrong {
  tensor: string;
  index: number[];
  got: string;
  expected: string;
  count: number;
  writers: string[];
  note: string;
}

export interface Run {
  id: string;
  when: string;
  title: string;
  step: string;
  trace: string;
  target: string;
  size: string;
  threads: number;
  state: "queued" | "compiling" | "checking" | "running" | "done" | "failed" | "cancelled";
  progress: number;
  seconds: number | null;
  spread: number | null;
  times: number[];
  gflops: number | null;
  check: "" | "ok" | "wrong" | "skipped";
  worst: string;
  wrong: Wrong | null;
  compile: number | null;
  baseline: number | null;
  baseline_name: string;
  naive?: number | null;
  error: Card | null;
  untimed?: string;
  machine: string;
  pinned: boolean;
  stale: boolean;
}

export interface Reason {
  text: string;
  number: string;
  show: string;
  how: "" | "measured" | "modelled" | "simulated";
}

export interface Comparison {
  a: string;
  b: string;
  state: "running" | "done" | "failed" | "cancelled";
  verdict: string;
  text: string;
  ratio: number | null;
  low: number | null;
  high: number | null;
  rounds: number;
  reasons: Reason[];
  explained: boolean;
  model: string;
  diff: DiffLine[];
  table: Table;
  error: Card | null;
}

export interface Worth {
  id: string;
  text: string;
  ratio: number | null;
  low: number | null;
  high: number | null;
}

export interface Runs {
  rows: Run[];
  comparison: Comparison | null;
  ablation: Worth[];
  options: RunOptions;
}

export interface RunOptions {
  target: string;
  threads: number;
  repeats: number;
  limit: number;
  seed: number;
  rtol: number;
  inputs: string;
}

export interface Target {
  name: string;
  label: string;
  available: boolean;
  why: string;
}

export interface MachineInfo {
  name: string;
  label: string;
  lines: string[];
}

export interface Badge {
  sign: "+" | "x" | "?" | "=";
  text: string;
  items: string[];
}

export interface Head {
  schema: number;
  id: string;
  name: string;
  title: string;
  variable: string;
  expression: string[];
  target: string;
  targets: Target[];
  machine: string;
  machines: MachineInfo[];
  badge: Badge;
  time: string;
  spread: string;
  times_naive: string;
  calls: string;
  program: string;
  busy: string;
  start: boolean;
  looked: number;
  given: string;
}

export interface Message {
  n: number;
  text: string;
  kind: "info" | "good" | "bad";
  card: Card | null;
}

export interface Field {
  name: string;
  label: string;
  value: unknown;
  kind: "int" | "choice" | "bool" | "text";
  choices: unknown[];
}

export interface Workload {
  name: string;
  label: string;
  text: string;
  fields: Field[];
  presets: Preset[];
}

export interface Preset {
  name: string;
  values: Record<string, unknown>;
}

export interface Drawer {
  workloads: Workload[];
  current: string;
  example: string;
}

export interface Typed {
  ok: boolean;
  tensors: string[];
  error: string;
  line: number;
  start: number;
  end: number;
}

export interface State {
  head: Head;
  history: History;
  frame: Frame;
  selection: string[];
  actions: Actions;
  runs: Runs;
  message: Message;
  story: Story;
}

export interface Document {
  schema: number;
  model?: string;
  state: State;
  pictures: Picture[];
  sources: SourceText[];
  save?: Record<string, unknown>;
}

export interface Pointer {
  schema: number;
  live: string;
}

export interface Request {
  seq: number;
  kind: "apply" | "undo" | "redo" | "jump" | "edit" | "delete" | "move" | "rename" | "note" | "branch" | "switch" | "retry" | "select" | "target" | "machine" | "start" | "look" | "preview" | "verdict" | "frame" | "source" | "passes" | "picture" | "drawer" | "typed" | "explain" | "document" | "run" | "cancel" | "pin" | "compare" | "ablate" | "options" | "module" | "tune";
  act?: Act;
  ids?: string[];
  step?: string;
  cursor?: number;
  to?: number;
  text?: string;
  what?: string;
  values?: Record<string, unknown>;
  sure?: boolean;
}

export interface Module {
  js: string;
  css: string;
}

export interface Reply {
  re: number;
  ok: boolean;
  data: unknown;
  card: Card | null;
}
