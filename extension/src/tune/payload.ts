// Made from tvmlab/view/payload_tune.py by `python -m tests.payloads`: change it there.

import type { Card, Table } from "../view/payload";

export interface Openable {
  step: string;
  param: string;
  label: string;
  now: string;
  open: boolean;
  count: number;
  why: string;
}

export interface Knob {
  id: string;
  label: string;
  values: string[];
  on: number[];
  current: number;
  kind: "number" | "word";
  help: string;
}

export interface Search {
  name: string;
  label: string;
  available: boolean;
  why: string;
}

export interface Trial {
  n: number;
  index: string;
  values: number[];
  outcome: string;
  reason: string;
  seconds: number | null;
  spread: number | null;
  gflops: number | null;
  predicted: number | null;
  worker: string;
  again: boolean;
}

export interface Count {
  text: string;
  count: number;
}

export interface Rank {
  n: number;
  rho: number;
}

export interface Retimed {
  index: string;
  seconds: number | null;
}

export interface Share {
  knob: string;
  share: number;
}

export interface Worker {
  name: string;
  state: "asked" | "takes part" | "out" | "gone";
  trials: number;
  note: string;
}

export interface TuneState {
  n: number;
  source: "steps" | "generic";
  openable: Openable[];
  knobs: Knob[];
  size: string;
  searches: Search[];
  search: string;
  trials: number | null;
  limit: number | null;
  file: string;
  fleet: string;
  workers: Worker[];
  state: "empty" | "ready" | "connecting" | "running" | "paused" | "finishing" | "stopping" | "done";
  done: number;
  elapsed: number;
  left: number | null;
  best: number | null;
  now: number | null;
  count: number;
  failures: Count[];
  discarded: Count[];
  notes: string[];
  retimed: Retimed[];
  since: number;
  ranks: Rank[];
  shares: Share[];
  adopted: string;
  error: Card | null;
}

export interface Update {
  state: TuneState | null;
  trials: Trial[];
  since: number;
}

export interface Heat {
  x: string;
  y: string;
  cells: ((number | null)[])[];
  table: Table;
}

export interface Asked {
  what: "state" | "heat" | "open" | "close" | "source" | "allow" | "settings" | "start" | "pause" | "resume" | "stop" | "clear" | "trial" | "adopt";
  values?: Record<string, unknown>;
}
