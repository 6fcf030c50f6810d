// Which lines are to be in the DOM: only those near what is seen.

export interface Span {
  first: number;
  /** Just after the last. */
  last: number;
}

const MORE = 12; // lines beyond the edges, so that a fast scroll shows text

/** Lines [first, last) of `count` lines of one height, for a pane scrolled to `top`. */
export function span(count: number, height: number, top: number, seen: number): Span {
  const first = Math.max(0, Math.floor(top / height) - MORE);
  const last = Math.min(count, Math.ceil((top + seen) / height) + MORE);
  return { first: Math.min(first, last), last };
}

/** Where to scroll so that line `at` is seen, moving as little as possible. */
export function reveal(at: number, height: number, top: number, seen: number): number {
  const low = at * height;
  if (low < top) return low;
  return low + height > top + seen ? Math.max(0, low + height - seen) : top;
}
