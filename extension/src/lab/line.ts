// The line to one notebook's kernel: which labs it has, and acts on them. The other end is tvmlab/lab/panel.py.
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import type { JSONObject } from "@lumino/coreutils";
import { Signal } from "@lumino/signaling";
import type { Badge, Reply, Request, Run } from "../view/payload";
import { LABS, WIDGETS } from "./names";
import { pointers } from "./outputs";
import type { LabSettings } from "./settings";

export interface LabInfo {
  id: string;
  name: string;
  title: string;
  step: number;
  steps: number;
  badge: Badge;
  time: string;
  runs: Run[];
  model_id: string;
}

export interface Answer {
  re: number;
  error?: string;
  labs?: LabInfo[];
  reply?: Reply;
  items?: { text: string; kind: string }[];
  written?: number;
}

export type Question =
  | { kind: "list" | "snapshot" }
  | { kind: "act"; lab: string; request: Omit<Request, "seq"> }
  | { kind: "complete"; text: string }
  | { kind: "settings"; values: object };

const GONE = "the kernel is gone";

export class Line {
  readonly changed = new Signal<this, void>(this);
  labs: LabInfo[] = [];
  private comm: Kernel.IComm | null = null;
  private connecting: Promise<void> | null = null;
  private first: (() => void) | null = null; // called with the first list of labs
  private last = 0;
  private readonly waiting = new Map<number, (answer: Answer) => void>();

  constructor(
    readonly panel: NotebookPanel,
    private readonly settings: LabSettings,
  ) {
    settings.changed.connect(this.tell, this);
    const session = panel.sessionContext;
    session.kernelChanged.connect(this.drop, this);
    session.statusChanged.connect((_, status) => {
      if (["restarting", "autorestarting", "dead", "terminating"].includes(status)) this.drop();
    });
    session.connectionStatusChanged.connect(() => void this.connect());
    void Promise.all([panel.context.ready, session.ready]).then(() => this.connect());
  }

  /** Opens the comm where the kernel has a lab of this notebook. A kernel that never saw tvmlab is not bothered. */
  connect(): Promise<void> {
    if (this.comm && !this.connecting) return Promise.resolve();
    this.connecting ??= this.find()
      .catch(() => {}) // the kernel went away meanwhile: the next one is tried again
      .finally(() => (this.connecting = null));
    return this.connecting;
  }

  private async find(): Promise<void> {
    const kernel = this.panel.sessionContext.session?.kernel;
    if (!kernel?.handleComms || this.panel.isDisposed) return;
    const shown = pointers(this.panel);
    if (!shown.length) return;
    const { content } = await kernel.requestCommInfo({ target_name: WIDGETS });
    const there = content.status === "ok" && shown.some((model) => Object.hasOwn(content.comms, model));
    if (!there || kernel.isDisposed) return;
    const listed = new Promise<void>((resolve) => (this.first = resolve));
    this.open(kernel);
    await listed;
  }

  /** The kernel's answer; a refusal is an answer with `error`. */
  ask(question: Question): Promise<Answer> {
    const comm = this.comm;
    if (!comm || comm.isDisposed) return Promise.resolve({ re: -1, error: "no lab of this notebook is alive" });
    const seq = ++this.last;
    return new Promise((resolve) => {
      this.waiting.set(seq, resolve);
      comm.send({ seq, ...question } as unknown as JSONObject);
    });
  }

  dispose(): void {
    this.drop();
    Signal.clearData(this);
  }

  private open(kernel: Kernel.IKernelConnection): void {
    const comm = kernel.createComm(LABS);
    comm.onMsg = ({ content }) => this.heard(content.data as unknown as Answer);
    comm.onClose = () => this.drop();
    this.comm = comm;
    comm.open();
    this.tell();
  }

  /** What the person has set: labs that are made in the kernel from now on begin like that. */
  private tell(): void {
    if (this.comm && this.settings.loaded) void this.ask({ kind: "settings", values: this.settings.values });
  }

  private heard(answer: Answer): void {
    this.waiting.get(answer.re)?.(answer);
    this.waiting.delete(answer.re);
    if (!answer.labs) return;
    this.labs = answer.labs;
    this.listed();
    this.changed.emit();
  }

  private listed(): void {
    this.first?.();
    this.first = null;
  }

  private drop(): void {
    const had = this.comm !== null;
    this.listed();
    this.comm = null;
    this.labs = [];
    this.waiting.forEach((resolve) => resolve({ re: -1, error: GONE }));
    this.waiting.clear();
    if (had) this.changed.emit();
  }
}
