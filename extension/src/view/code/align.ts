// Which entries of two lists are the same ones, in order: for ghost rows, and for a diff where no kernel can be asked.

/** Pairs [i, j] with same(old[i], next[j]), longest common subsequence; equal ends are cut off first. */
export function align<T>(old: T[], next: T[], same: (a: T, b: T) => boolean): [number, number][] {
  const least = Math.min(old.length, next.length);
  let head = 0;
  while (head < least && same(old[head]!, next[head]!)) head++;
  let tail = 0;
  while (tail < least - head && same(old[old.length - 1 - tail]!, next[next.length - 1 - tail]!)) tail++;
  const middle = common(old.slice(head, old.length - tail), next.slice(head, next.length - tail), same);
  const pairs: [number, number][] = [];
  for (let i = 0; i < head; i++) pairs.push([i, i]);
  for (const [i, j] of middle) pairs.push([i + head, j + head]);
  for (let i = tail; i > 0; i--) pairs.push([old.length - i, next.length - i]);
  return pairs;
}

const CELLS = 4_000_000; // beyond it the middle counts as replaced: an answer in time is worth more

function common<T>(a: T[], b: T[], same: (a: T, b: T) => boolean): [number, number][] {
  if (!a.length || !b.length || a.length * b.length > CELLS) return [];
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const skip = Math.max(best[(i + 1) * width + j]!, best[i * width + j + 1]!);
      best[i * width + j] = same(a[i]!, b[j]!) ? Math.max(skip, best[(i + 1) * width + j + 1]! + 1) : skip;
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const here = best[i * width + j]!;
    if (same(a[i]!, b[j]!) && here === best[(i + 1) * width + j + 1]! + 1) pairs.push([i++, j++]);
    else if (best[(i + 1) * width + j]! === here) i++;
    else j++;
  }
  return pairs;
}
