// Requests on their way: how long the person has been waiting, and that of quick repeats only the last is sent.
import type { Ask } from "./host";
import type { Reply } from "./payload";
import { signal } from "./signals";

const SOON = 300; // ms: then a spinner
const LONG = 1000; // ms: then the words

interface Next {
  request: Ask;
  resolve: (reply: Reply | null) => void;
}

export function pending(send: (request: Ask) => Promise<Reply>) {
  const busy = signal<"" | "soon" | "waiting">("");
  const since: number[] = [];
  const flying = new Set<string>();
  const next = new Map<string, Next>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function look(): void {
    clearTimeout(timer);
    const age = since.length ? performance.now() - since[0]! : 0;
    busy.value = age >= LONG ? "waiting" : age >= SOON ? "soon" : "";
    if (since.length && age < LONG) timer = setTimeout(look, (age < SOON ? SOON : LONG) - age + 1);
  }

  async function ask(request: Ask): Promise<Reply> {
    const start = performance.now();
    since.push(start);
    look();
    try {
      return await send(request);
    } finally {
      since.splice(since.indexOf(start), 1);
      look();
    }
  }

  async function fly(request: Ask): Promise<Reply> {
    const { kind } = request;
    flying.add(kind);
    try {
      return await ask(request);
    } finally {
      flying.delete(kind);
      const later = next.get(kind);
      next.delete(kind);
      if (later) void fly(later.request).then(later.resolve);
    }
  }

  return {
    busy,
    ask,
    latest(request: Ask): Promise<Reply | null> {
      if (!flying.has(request.kind)) return fly(request);
      next.get(request.kind)?.resolve(null);
      return new Promise((resolve) => next.set(request.kind, { request, resolve }));
    },
    stop: () => clearTimeout(timer),
  };
}
