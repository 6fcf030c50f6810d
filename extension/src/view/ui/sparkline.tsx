// A line through one number per step; a step without the number leaves a gap.

interface Props {
  values: (number | null)[];
  /** The step that is looked at. */
  at: number;
  label: string;
  width?: number;
  height?: number;
  /** Steps can be far apart: then the eye needs ratios. */
  log?: boolean;
}

export function Sparkline({ values, at, label, width = 96, height = 22, log }: Props) {
  const points = place(values, width, height, log);
  const here = points[at];
  return (
    <svg class="tvl-spark" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label}>
      {runs(points).map((run, i) => (
        <polyline key={i} points={run.map((p) => `${p.x},${p.y}`).join(" ")} />
      ))}
      {here && <circle cx={here.x} cy={here.y} r="3" class="tvl-spark-at" />}
    </svg>
  );
}

interface Point {
  x: number;
  y: number;
}

export function place(values: (number | null)[], width: number, height: number, log = false): (Point | null)[] {
  const given = values.filter((v): v is number => v !== null && Number.isFinite(v));
  if (!given.length) return values.map(() => null);
  const scale = (v: number) => (log ? Math.log(Math.max(v, 1e-12)) : v);
  const low = Math.min(...given.map(scale));
  const high = Math.max(...given.map(scale));
  const pad = 4;
  const dx = values.length > 1 ? (width - 2 * pad) / (values.length - 1) : 0;
  const y = (v: number) => (high === low ? height / 2 : height - pad - ((scale(v) - low) / (high - low)) * (height - 2 * pad));
  return values.map((v, i) =>
    v === null || !Number.isFinite(v) ? null : { x: round(pad + i * dx), y: round(y(v)) },
  );
}

const round = (v: number) => Math.round(v * 10) / 10;

function runs(points: (Point | null)[]): Point[][] {
  const out: Point[][] = [[]];
  for (const p of points) {
    if (p) out.at(-1)!.push(p);
    else if (out.at(-1)!.length) out.push([]);
  }
  return out.filter((run) => run.length > 1);
}
