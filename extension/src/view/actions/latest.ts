// One question at a time: while one is out, only the newest of the others is kept.

export interface Latest<Q> {
  /** Asks at once, or after `wait` ms unless something newer is asked before. */
  ask(question: Q, wait?: number): void;
  /** Forgets what was asked; an answer that still comes is dropped. */
  drop(): void;
}

export function latest<Q, A>(send: (question: Q) => Promise<A>, answer: (answer: A, question: Q) => void): Latest<Q> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waiting: { question: Q } | null = null;
  let out = false;
  let turn = 0;

  function go() {
    if (out || !waiting) return;
    const { question } = waiting;
    const mine = turn;
    waiting = null;
    out = true;
    const done = (reply?: A) => {
      out = false;
      if (reply !== undefined && mine === turn) answer(reply, question);
      go();
    };
    send(question).then(done, () => done());
  }
  return {
    ask(question, wait = 0) {
      clearTimeout(timer);
      waiting = null;
      const now = () => {
        waiting = { question };
        go();
      };
      if (wait) timer = setTimeout(now, wait);
      else now();
    },
    drop() {
      clearTimeout(timer);
      turn++;
      waiting = null;
    },
  };
}
