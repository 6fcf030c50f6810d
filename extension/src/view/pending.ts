// Requests on their way: how long the person has been waiting, and that of quick repeats only the last is sent.
import { signal } from "./signals";
import type { Ask } from "./host";
import type { Reply } from "./payload";

const SOON = 300; // ms: then a spinner
const LONG = 1000; // ms: then the words

interface Next {
  request: Ask;
  resolve: (reply: Reply | null) => void;
}

export class Pending {
  readonly busy = signal<"" | "soon" | "waiting">("");
  private since: number[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly flying = new Set<string>();
  private readonly next = new Map<string, Next>();

  constructor(private readonly send: (request: Ask) => Promise<Reply>) {}

  async ask(request: Ask): Promise<Reply> {
    const start = performance.now();
    this.since.push(start);
    this.look();
    try {
      return await this.send(request);
    } finally {
      this.since.splice(this.since.indexOf(start), 1);
      this.look();
    }
  }

  latest(request: Ask): Promise<Reply | null> {
    const { kind } = request;
    if (!this.flying.has(kind)) return this.fly(request);
    this.next.get(kind)?.resolve(null);
    return new Promise((resolve) => this.next.set(kind, { request, resolve }));
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private async fly(request: Ask): Promise<Reply> {
    const { kind } = request;
    this.flying.add(kind);
    try {
      return await this.ask(request);
    } finally {
      this.flying.delete(kind);
      const next = this.next.get(kind);
      this.next.delete(kind);
      if (next) this.fly(next.request).then(next.resolve);
    }
  }

  private look(): void {
    clearTimeout(this.timer);
    const age = this.since.length ? performance.now() - Math.min(...this.since) : 0;
    this.busy.value = age >= LONG ? "waiting" : age >= SOON ? "soon" : "";
    if (this.since.length && age < LONG) this.timer = setTimeout(() => this.look(), (age < SOON ? SOON : LONG) - age + 1);
  }
}
