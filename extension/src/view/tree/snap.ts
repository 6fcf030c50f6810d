// Dragging the edge of an extent: which factor the pointer's way stands for.

export function divisors(n: number): number[] {
  const low: number[] = [];
  const high: number[] = [];
  for (let d = 1; d * d <= n; d++) {
    if (n % d) continue;
    low.push(d);
    if (d * d !== n) high.unshift(n / d);
  }
  return [...low, ...high];
}

export const STEP = 18; // pixels of one divisor
const PULL = 0.32; // how near a divisor, in steps, it takes the factor to itself

export interface Snap {
  factor: number;
  /** "32 = 4 x 8", or with a tail "33 = 2 x 16 + 1". */
  text: string;
  tail: boolean;
}

/** The split's factor after the edge went `pixels` to the left: near divisors snap, between them lie the factors with a tail. */
export function snap(n: number, pixels: number): Snap | null {
  if (!Number.isSafeInteger(n) || n < 2) return null;
  const stops = divisors(n);
  const way = stops.length - 1 - Math.max(0, pixels) / STEP;
  if (way > stops.length - 1 - PULL) return null; // not moved yet
  const near = Math.round(way);
  if (way <= 0) return told(n, 1);
  if (Math.abs(way - near) < PULL) return told(n, stops[near]!);
  const [low, high] = [stops[Math.floor(way)]!, stops[Math.ceil(way)]!];
  const between = Math.round(low * (high / low) ** (way - Math.floor(way))); // even steps feel even as ratios
  return told(n, between);
}

export function told(n: number, factor: number): Snap {
  const whole = Math.floor(n / factor);
  const rest = n - whole * factor;
  return { factor, tail: rest > 0, text: `${n} = ${whole} × ${factor}${rest ? ` + ${rest}` : ""}` };
}
