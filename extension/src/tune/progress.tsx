// Every trial as a dot, the best so far as a line, failures as crosses on the axis.
import { useMemo, useRef, useState } from "preact/hooks";
import { seconds } from "../view/ui/format";
import { useSession } from "./context";
import { boxOf, CountAxis, isKey, Legend, TimeAxis, Tip, trialTable, Twin, useSize, type Box } from "./frame";
import type { Trial, TuneState } from "./payload";
import { countTicks, crosses, diamonds, dots, isMeasured, logScale, nearest, reach, records, stairs, type Point, type Scale } from "./plot";

interface Layout {
  box: Box;
  scale: Scale;
  last: number;
  x: (n: number) => number;
  points: Point[]; // of all trials, in order
  later: Point[]; // of those timed again at the end, at these times
}

export function layout(trials: Trial[], now: TuneState, size: [number, number]): Layout {
  const box = boxOf(size);
  const again = now.retimed.flatMap(({ index, seconds }) => {
    const trial = trials.find((t) => t.index === index);
    return trial && seconds !== null ? [{ trial, seconds }] : [];
  });
  const times = [...trials.filter(isMeasured), ...again].map((t) => t.seconds);
  if (now.now) times.push(now.now);
  const scale = logScale(times, box.bottom - 10, box.top);
  const last = reach(trials.length, now.trials);
  const x = (n: number) => box.left + 8 + ((n - 1) / (last - 1)) * (box.right - box.left - 16);
  const points = trials.map((trial) => ({ x: x(trial.n), y: isMeasured(trial) ? scale(trial.seconds) : box.bottom, trial }));
  const later = again.map(({ trial, seconds }) => ({ x: x(trial.n), y: scale(seconds), trial }));
  return { box, scale, last, x, points, later };
}

export function Progress({ now }: { now: TuneState }) {
  const { trials, look, looking } = useSession();
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box);
  const all = trials.value;
  const again = now.retimed.map((r) => `${r.index} ${r.seconds}`).join();
  const made = useMemo(() => layout(all, now, size), [all, size, now.now, now.trials, again]);
  const [pointed, setPointed] = useState<{ n: number; aloud: boolean } | null>(null);
  const find = (n: number | undefined) => made.points.find((p) => p.trial.n === n);
  const point = find(pointed?.n);
  const seen = find(looking.value?.n);
  const under = (event: PointerEvent | MouseEvent) => {
    const { left, top } = box.current!.getBoundingClientRect();
    return nearest([...made.points, ...made.later], event.clientX - left, event.clientY - top);
  };
  const heard = (event: KeyboardEvent) => {
    const at = point ? made.points.indexOf(point) : all.length;
    const keys: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 };
    if (!isKey(event) || !all.length) return;
    if (event.key === "Enter" && point) void look(point.trial);
    else if (event.key in keys) setPointed({ n: all[Math.max(0, Math.min(keys[event.key]!, all.length - 1))]!.n, aloud: true });
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div
        class="tvn-plot"
        ref={box}
        role="group"
        tabIndex={0}
        aria-label={said(all, now)}
        onPointerMove={(e) => {
          const p = under(e);
          setPointed(p && { n: p.trial.n, aloud: false });
        }}
        onPointerLeave={() => setPointed(null)}
        onBlur={() => setPointed(null)}
        onClick={(e) => {
          const trial = under(e)?.trial;
          if (trial) void look(trial);
        }}
        onKeyDown={heard}
      >
        <svg width={size[0]} height={size[1]} aria-hidden="true">
          <Marks made={made} now={now} />
          {seen && <circle class="tvn-seen" cx={seen.x} cy={seen.y} r="7" />}
          {point &&
            [point, ...made.later.filter((p) => p.trial.n === point.trial.n)].map((p, i) => (
              <circle key={i} class="tvn-pointed" cx={p.x} cy={p.y} r={i ? 8 : 6} />
            ))}
        </svg>
        {point && <Tip point={point} now={now} width={size[0]} aloud={pointed!.aloud} />}
        {!all.length && <p class="tvn-empty">{EMPTY[now.state] ?? "No trial yet."}</p>}
      </div>
      <Legend
        marks={[
          ["trial", "a trial"],
          ...(all.some((t) => t.again) ? [["again", "from the file"] as [string, string]] : []),
          ["best", made.later.length ? "the best so far; at its end the best of those timed again" : "the best so far"],
          ...(made.later.length ? [["retimed", "timed again at the end: this time counts"] as [string, string]] : []),
          ...(now.now ? [["now", "the schedule as it is"] as [string, string]] : []),
          ["failed", "failed"],
        ]}
      />
      <Twin table={() => trialTable(all, now.knobs)} />
    </>
  );
}

const EMPTY: Partial<Record<TuneState["state"], string>> = {
  empty: "Open values of the steps at the left: then Start measures schedules with other values.",
  ready: "Start measures one schedule after the other, in a process of its own.",
  connecting: "The workers are asked who they are.",
  running: "The first trial is on its way.",
}; // prettier-ignore

function said(trials: Trial[], now: TuneState): string {
  const failed = trials.filter((t) => !isMeasured(t)).length;
  const best = now.best === null ? "" : `, best ${seconds(now.best)}`;
  return `Times of ${trials.length} trials${best}, ${failed} failed. Arrow keys go from trial to trial, Enter looks at one.`;
}

/** All trials in a handful of paths: two thousand stay smooth. */
function Marks({ made, now }: { made: Layout; now: TuneState }) {
  const { box, scale, x, points, last, later } = made;
  const paths = useMemo(() => {
    const good = points.filter((p) => isMeasured(p.trial));
    const end = later.length && points.at(-1)!.x;
    const best = records(points.map((p) => p.trial)).map((t) => ({ x: x(t.n), y: scale(t.seconds) }));
    return {
      own: dots(good.filter((p) => !p.trial.again)),
      again: dots(good.filter((p) => p.trial.again)),
      failed: crosses(points.filter((p) => !isMeasured(p.trial))),
      best: stairs(best, points.at(-1)?.x ?? 0) + (end && now.best ? `V${scale(now.best)}H${end + 10}` : ""),
      later: diamonds(later),
    };
  }, [made, now.best]);
  return (
    <>
      <TimeAxis box={box} scale={scale} />
      <CountAxis box={box} ticks={countTicks(last)} at={x} label="trials" />
      {now.now && <path class="tvn-now" d={`M${box.left} ${scale(now.now)}H${box.right}`} />}
      <path class="tvn-again" d={paths.again} />
      <path class="tvn-hole" d={paths.again} />
      <path class="tvn-trial" d={paths.own} />
      <path class="tvn-best" d={paths.best} />
      {later.length > 0 && <path class="tvn-retimed" d={paths.later} />}
      <path class="tvn-failed" d={paths.failed} />
      {now.now && (
        <text class="tvn-now-text" x={box.right} y={scale(now.now) - 6} text-anchor="end">
          now {seconds(now.now)}
        </text>
      )}
    </>
  );
}
