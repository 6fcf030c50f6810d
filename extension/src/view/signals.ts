// Values that redraw what reads them: a component that reads `.value` while it is drawn is drawn again when that changes.
//
// As much of signals as the lab needs, and no more: the module is stored in every notebook that has a lab.
import { options, type Component, type VNode } from "preact";

export interface ReadonlySignal<T> {
  readonly value: T;
}

export interface Signal<T> {
  value: T;
}

interface Reader {
  again(): void;
  readonly reads: Set<Source<unknown>>;
}

// Who is drawn or computed right now: set and given back within one synchronous call, never kept.
let reader: Reader | undefined;

class Source<T> implements Signal<T> {
  readonly readers = new Set<Reader>();

  constructor(protected now: T) {}

  get value(): T {
    if (reader) {
      this.readers.add(reader);
      reader.reads.add(this as Source<unknown>);
    }
    return this.now;
  }

  set value(next: T) {
    if (Object.is(next, this.now)) return;
    this.now = next;
    for (const r of [...this.readers]) r.again();
  }
}

class Derived<T> extends Source<T> implements Reader {
  readonly reads = new Set<Source<unknown>>();
  private stale = true;

  constructor(private readonly of: () => T) {
    super(undefined as T);
  }

  override get value(): T {
    if (this.stale) this.now = this.compute();
    return super.value;
  }

  /** Something it reads has changed: its own readers hear of it only if it is another value now. */
  again(): void {
    if (this.readers.size) super.value = this.compute();
    else this.stale = true;
  }

  private compute(): T {
    const outer = reader;
    forget(this);
    reader = this;
    try {
      return this.of();
    } finally {
      reader = outer;
      this.stale = false;
    }
  }
}

export function signal<T>(value: T): Signal<T> {
  return new Source(value);
}

export function computed<T>(of: () => T): ReadonlySignal<T> {
  return new Derived(of);
}

function forget(who: Reader): void {
  for (const source of who.reads) source.readers.delete(who);
  who.reads.clear();
}

// ---- where Preact says which component is drawn

type Drawn = Component & { reader?: Reader };
type Hooks = Record<string, ((...args: never[]) => void) | undefined>;
const drawnBy = (vnode: VNode) => (vnode as unknown as { __c?: Drawn }).__c;

function hook(name: string, before: (vnode: VNode) => void): void {
  const hooks = options as unknown as Hooks;
  const old = hooks[name] as ((...args: unknown[]) => void) | undefined;
  hooks[name] = (...args: unknown[]) => {
    before(args.find((a) => !!a && typeof a === "object" && "type" in a) as VNode);
    old?.(...args);
  };
}

const nobody = () => void (reader = undefined);

hook("__b", nobody); // a component's function has returned when the next node is begun,
hook("diffed", nobody); // or when its own is done,
hook("__e", nobody); // or when it threw
hook("__r", (vnode) => {
  const component = drawnBy(vnode);
  if (!component) return nobody();
  reader = component.reader ??= { again: () => component.setState({}), reads: new Set() };
  forget(reader);
});
hook("unmount", (vnode) => {
  const old = drawnBy(vnode)?.reader;
  if (old) forget(old);
});
