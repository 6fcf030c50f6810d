// How far the cost model can be believed: its order beside the measured one, and which knobs the time depends on.
import { useMemo, useRef, useState } from "preact/hooks";
import { useSession } from "./context";
import { boxOf, CountAxis, isKey, Tip, Twin, useSize } from "./frame";
import type { Trial, TuneState } from "./payload";
import { countTicks, dots, isMeasured, line, nearest, ranks, type Measured, type Point } from "./plot";

const FEW = 12; // trials: their order may be chance

interface Placed {
  trial: Measured;
  measured: number;
  predicted: number;
}

/** Trials with a prediction, and their ranks: 1 is the fastest, or was expected to be. */
export function byRank(trials: Trial[]): Placed[] {
  const both = trials.filter((t): t is Measured & { predicted: number } => isMeasured(t) && t.predicted !== null && !t.again);
  const measured = ranks(both.map((t) => t.seconds));
  const predicted = ranks(both.map((t) => -t.predicted));
  return both.map((trial, i) => ({ trial, measured: measured[i]!, predicted: predicted[i]! }));
}

export function Model({ now }: { now: TuneState }) {
  const { trials } = useSession();
  const all = useMemo(() => byRank(trials.value), [trials.value]);
  const rho = now.ranks.at(-1)?.rho;
  return (
    <>
      {all.length > 1 ? (
        <>
          <p class="tvn-note">
            Predicted against measured rank, 1 is the fastest{rho !== undefined && (
              <>
                : rho <b>{rho.toFixed(2)}</b>, {all.length < FEW ? "of too few trials to judge it" : believed(rho)}
              </>
            )}
          </p>
          <Ranks all={all} now={now} />
          <Twin
            table={() => ({
              title: "Ranks, 1 is the fastest",
              head: ["trial", "predicted", "measured"],
              rows: all.map((r) => [String(r.trial.n), String(r.predicted), String(r.measured)]),
            })}
          />
        </>
      ) : (
        <p class="tvn-note">No trial was predicted yet: a search with a cost model predicts once it has measured some.</p>
      )}
      <div class="tvn-two">
        <Agreement now={now} />
        <Shares now={now} />
      </div>
    </>
  );
}

function believed(rho: number): string {
  if (rho > 0.8) return "the model orders schedules well";
  if (rho > 0.4) return "the model helps, and is often wrong";
  return rho < -0.2 ? "so far its order is rather the reverse" : "the model knows little so far";
}

function Ranks({ all, now }: { all: Placed[]; now: TuneState }) {
  const { look } = useSession();
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const [pointed, setPointed] = useState<{ n: number; aloud: boolean } | null>(null);
  const box = boxOf(size, { left: 46, right: 16, top: 28, bottom: 40 });
  const n = all.length;
  const x = (rank: number) => box.left + 8 + ((rank - 1) / (n - 1)) * (box.right - box.left - 16);
  const y = (rank: number) => box.bottom - 8 - ((rank - 1) / (n - 1)) * (box.bottom - box.top - 16);
  const points: Point[] = all.map((r) => ({ x: x(r.predicted), y: y(r.measured), trial: r.trial }));
  const point = points.find((p) => p.trial.n === pointed?.n);
  const under = (e: MouseEvent) => {
    const { left, top } = frame.current!.getBoundingClientRect();
    return nearest(points, e.clientX - left, e.clientY - top);
  };
  const order = [...points].sort((a, b) => a.x - b.x);
  const heard = (event: KeyboardEvent) => {
    const at = point ? order.indexOf(point) : -1;
    const keys: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: n - 1 };
    if (!isKey(event)) return;
    if (event.key === "Enter" && point) void look(point.trial);
    else if (event.key in keys) setPointed({ n: order[Math.max(0, Math.min(keys[event.key]!, n - 1))]!.trial.n, aloud: true });
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="tvn-plot tvn-ranks"
      ref={frame}
      role="group"
      tabIndex={0}
      aria-label="Predicted rank across, measured rank upwards. Arrow keys go from trial to trial, Enter looks at one."
      onPointerMove={(e) => {
        const p = under(e);
        setPointed(p && { n: p.trial.n, aloud: false });
      }}
      onPointerLeave={() => setPointed(null)}
      onBlur={() => setPointed(null)}
      onClick={(e) => {
        const p = under(e);
        if (p) void look(p.trial);
      }}
      onKeyDown={heard}
    >
      <svg width={size[0]} height={size[1]} aria-hidden="true">
        <g class="tvn-axis">
          {countTicks(n).map((rank) => (
            <g key={rank} transform={`translate(0 ${y(rank)})`}>
              <path d={`M${box.left} 0H${box.right}`} />
              <text x={box.left - 6} dy="0.32em" text-anchor="end">
                {rank}
              </text>
            </g>
          ))}
        </g>
        <CountAxis box={box} ticks={countTicks(n)} at={x} label="predicted rank" />
        <text x="8" y={box.top - 14}>
          measured rank
        </text>
        <path class="tvn-now" d={line([{ x: x(1), y: y(1) }, { x: x(n), y: y(n) }])} />
        <path class="tvn-trial" d={dots(points)} />
        {point && <circle class="tvn-pointed" cx={point.x} cy={point.y} r="6" />}
      </svg>
      {point && <Tip point={point} now={now} width={size[0]} aloud={pointed!.aloud} />}
    </div>
  );
}

const WIDTH = 260;
const HEIGHT = 72;

/** rho as the trials came: small, its numbers are in words. */
function Agreement({ now: { ranks: all } }: { now: TuneState }) {
  if (all.length < 2) return null;
  const last = all.at(-1)!;
  const y = (rho: number) => HEIGHT / 2 - 4 - rho * (HEIGHT / 2 - 12);
  const first = all[0]!.n;
  const x = (n: number) => 26 + ((n - first) / (last.n - first || 1)) * (WIDTH - 34);
  return (
    <section>
      <h3>Agreement (rho) as trials came</h3>
      <svg
        class="tvn-rho"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`rho from ${all[0]!.rho.toFixed(2)} at trial ${first} to ${last.rho.toFixed(2)} at trial ${last.n}`}
      >
        <g class="tvn-axis">
          {[-1, 0, 1].map((rho) => (
            <g key={rho} transform={`translate(0 ${y(rho)})`}>
              <path d={`M26 0H${WIDTH}`} />
              <text x="20" dy="0.32em" text-anchor="end">
                {rho}
              </text>
            </g>
          ))}
        </g>
        <path class="tvn-best" d={line(all.map((r) => ({ x: x(r.n), y: y(r.rho) })))} />
      </svg>
    </section>
  );
}

function Shares({ now: { shares, knobs } }: { now: TuneState }) {
  if (!shares.length) return null;
  const sorted = [...shares].sort((a, b) => b.share - a.share);
  return (
    <section>
      <h3>What the time depends on</h3>
      <table class="tvn-shares">
        <caption class="tvl-hidden">Share of the differences in time that each knob alone explains</caption>
        <tbody>
          {sorted.map(({ knob, share }) => (
            <tr key={knob}>
              <th scope="row">{knobs.find((k) => k.id === knob)?.label ?? knob}</th>
              <td>
                <i style={{ width: `${Math.round(share * 100)}%` }} />
              </td>
              <td>{Math.round(share * 100)} %</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
