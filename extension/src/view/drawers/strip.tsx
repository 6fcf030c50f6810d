import { seconds } from "../ui/format";

/** The shortest and the longest time of all runs shown, so that their strips can be held against each other. */
export interface Range {
  low: number;
  high: number;
}

const WIDTH = 120;
const PAD = 4;

/** One dot per repeat, on a scale of ratios. */
export function Strip({ times, range }: { times: number[]; range: Range }) {
  if (!times.length) return <span class="tvl-soft-text">–</span>;
  const sorted = [...times].sort((a, b) => a - b);
  const label = `${times.length} times, ${seconds(sorted[0])} to ${seconds(sorted.at(-1))}`;
  const middle = sorted[Math.floor(sorted.length / 2)]!;
  return (
    <svg class="tvl-strip" viewBox={`0 0 ${WIDTH} 20`} width={WIDTH} height="20" role="img" aria-label={label}>
      <line x1={PAD} x2={WIDTH - PAD} y1="10" y2="10" />
      {times.slice(0, 200).map((t, i) => (
        <circle key={i} cx={along(t, range)} cy="10" r="3" />
      ))}
      <path d={`M${along(middle, range)} 3v14`} />
    </svg>
  );
}

export function along(time: number, { low, high }: Range): number {
  if (!(high > low) || low <= 0) return WIDTH / 2;
  return PAD + (Math.log(time / low) / Math.log(high / low)) * (WIDTH - 2 * PAD);
}
