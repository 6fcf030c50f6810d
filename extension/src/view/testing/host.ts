// A host that answers from a table and keeps what it was asked; without a kernel it is a saved document's.
import { GONE, type Trait } from "../host";
import type { Card, Request, State } from "../payload";
import { document } from "./fixture";
import type { FakeHost } from "./kernel";

export interface TestHost extends FakeHost {
  /** The kernel is lost, or there again. */
  lose(lost: boolean): void;
}

/** What an answer makes of a request: data, `refuse(card)`, or a promise of either. */
export type Answer = (request: Request) => unknown;

export const card = (text: string): Card => ({ title: "", text, where: [], clash: "", moves: [], legal: [], hint: "", code: "" });
export const refuse = (text: string) => ({ refused: card(text) });

export function testHost(over: Partial<State> = {}, answers: Record<string, Answer> = {}, live = true): TestHost {
  const saved = document(over);
  const heard = new Map<Trait, Set<() => void>>();
  const table = new Map(Object.entries(answers));
  let losing = (_lost: boolean) => {};
  const host: TestHost = {
    live,
    ...(live ? {} : { document: saved }),
    asked: [],
    get: (name) => saved.state[name],
    set(name, value) {
      saved.state[name] = value;
      heard.get(name)?.forEach((f) => f());
    },
    on(name, f) {
      heard.set(name, (heard.get(name) ?? new Set()).add(f));
      return () => heard.get(name)?.delete(f);
    },
    async ask(request) {
      if (!live) return GONE;
      const seq = host.asked.length;
      host.asked.push({ ...request, seq });
      const data = (await table.get(request.kind)?.({ ...request, seq })) ?? null;
      const refused = (data as { refused?: Card } | null)?.refused;
      return refused ? { re: seq, ok: false, data: null, card: refused } : { re: seq, ok: true, data, card: null };
    },
    onLost(changed) {
      losing = changed;
      return () => (losing = () => {});
    },
    lose: (lost) => losing(lost),
    dispose() {},
  };
  return host;
}
