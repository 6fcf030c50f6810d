// A line per trial through its values to its time. Dragging along an axis, or the keys, say which values are searched.
import { useMemo, useRef, useState } from "preact/hooks";
import { useStore } from "../view/store";
import { seconds } from "../view/ui/format";
import { useSession } from "./context";
import { isKey, Shades, trialTable, Twin, useSize, type Box } from "./frame";
import { places } from "./knobs";
import type { Knob, Trial, TuneState } from "./payload";
import { brushed, isAllowed, isMeasured, line, logScale, placeAt, shades, SHADES, shortNames, staggered, thinned, valueAt, type Scale } from "./plot";

const PAD = { top: 32, bottom: 26, left: 52, right: 62 };
const LINE = 14; // pixels of a line of names
const LETTER = 6.2;

export function Parallel({ now }: { now: TuneState }) {
  const { trials } = useSession();
  const frame = useRef<HTMLDivElement>(null);
  const [width, height] = useSize(frame);
  const { knobs } = now;
  const gap = Math.max(1, width - PAD.left - PAD.right) / Math.max(1, knobs.length);
  const x = (i: number) => PAD.left + i * gap;
  const short = shortNames(knobs.map((k) => k.label));
  const names = staggered([...short, "time"], gap, LETTER);
  const lines = Math.max(...names.map((n) => n.line)) * LINE;
  const box: Box = { left: PAD.left, right: width - PAD.right, top: PAD.top + lines, bottom: height - PAD.bottom };
  const good = useMemo(() => trials.value.filter(isMeasured), [trials.value]);
  const scale = useMemo(
    () => logScale(good.map((t) => t.seconds), box.top, box.bottom),
    [good, box.top, box.bottom],
  );
  const axes = useMemo(
    () => knobs.map((knob, i) => <Axis key={knob.id} knob={knob} x={x(i)} gap={i ? gap : PAD.left} name={names[i]!} box={box} />),
    [knobs, width, height],
  );
  const hidden = knobs.some((k, i) => i > 0 && k.values.some((v) => !fits(v, gap)));
  return (
    <>
      <div class="tvn-plot tvn-across" ref={frame}>
        {knobs.length ? (
          <svg width={width} height={height} role="group" aria-label="The values of each trial, and its time">
            <Lines trials={good} knobs={knobs} box={box} x={x} scale={scale} />
            {axes}
            <Times x={x(knobs.length)} box={box} scale={scale} />
          </svg>
        ) : (
          <p class="tvn-empty">There is no knob yet: open values of the steps at the left.</p>
        )}
      </div>
      {knobs.length > 0 && (
        <Shades>
          Drag along an axis to search only these values, click a value to take it out or in.
          {hidden && " Point at an axis for its values."}
        </Shades>
      )}
      <Twin table={() => trialTable(trials.value, knobs)} />
    </>
  );
}

interface LinesProps {
  trials: (Trial & { seconds: number })[];
  knobs: Knob[];
  box: Box;
  x: (i: number) => number;
  scale: Scale;
}

/** One path for each shade, the fastest on top; those with a value that was taken out are faint. */
function Lines({ trials, knobs, box, x, scale }: LinesProps) {
  const allowed = knobs.map((k) => k.on.join()).join(";");
  const paths = useMemo(() => {
    const shade = shades(trials.map((t) => t.seconds));
    const made = new Array<string>(SHADES + 1).fill("");
    for (const t of trials) {
      const points = knobs.flatMap((k, i) => {
        const place = t.values[i] ?? -1;
        return place < 0 ? [] : [{ x: x(i), y: valueAt(place, k.values.length, box.top, box.bottom) }];
      });
      const to = isAllowed(t, knobs) ? shade(t.seconds) + 1 : 0;
      made[to] += line([...points, { x: x(knobs.length), y: scale(t.seconds) }]);
    }
    return made;
  }, [trials, allowed, box.right, box.bottom]);
  return (
    <g class="tvn-lines" aria-hidden="true">
      {paths.map((d, i) => (
        <path key={i} class={i ? `tvn-line tvn-line-${i - 1}` : "tvn-line tvn-line-off"} d={d} />
      ))}
    </g>
  );
}

/** Does a value stand between its axis and the one before? */
const fits = (value: string, gap: number): boolean => Math.min(value.length, 9) * LETTER <= gap - 12;

interface AxisProps {
  knob: Knob;
  x: number;
  /** Pixels to the axis before. */
  gap: number;
  name: { text: string; line: number };
  box: Box;
}

/** A list of values that can be picked from: arrows go along, Space takes one out or in, Shift+arrows a stretch, `a` all. */
function Axis({ knob, x, gap, name, box }: AxisProps) {
  const { allow, toggle } = useSession();
  const { uid } = useStore();
  const { id, label, values, on, help } = knob;
  const { top, bottom } = box;
  const axis = useRef<SVGGElement>(null);
  const [at, setAt] = useState(0); // where the keys are
  const [start, setStart] = useState<number | null>(null); // of a stretch
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const y = (place: number) => valueAt(place, values.length, top, bottom);
  const set = (next: number[]) => void (next.length && allow(id, next));
  const height = (event: PointerEvent) => event.clientY - axis.current!.ownerSVGElement!.getBoundingClientRect().top;
  const dropped = () => {
    if (!drag) return;
    setDrag(null);
    if (Math.abs(drag.to - drag.from) > 4) set(brushed(values.length, drag.from, drag.to, top, bottom));
    else toggle(knob, placeAt(drag.to, values.length, top, bottom));
  };
  const heard = (event: KeyboardEvent) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const shift = event.shiftKey;
    if (by) {
      const next = Math.max(0, Math.min(values.length - 1, at + by));
      const from = start ?? at;
      setAt(next);
      setStart(shift ? from : null);
      if (shift) set(places(values).filter((i) => i >= Math.min(from, next) && i <= Math.max(from, next)));
    } else if (!isKey(event)) return;
    else if (event.key === " ") toggle(knob, at);
    else if (event.key === "a") set(places(values));
    else if (event.key === "Home" || event.key === "End") setAt(event.key === "Home" ? 0 : values.length - 1);
    else return;
    event.preventDefault();
  };
  const named = new Set(thinned([...places(values)], y, 13));
  const idOf = (place: number) => `${uid}-${id}-${place}`.replace(/[^\w-]/g, "_");
  const left = Math.min(34, gap * 0.6);
  const taken = values.length - on.length;
  return (
    <g
      ref={axis}
      class="tvn-knob-axis"
      role="listbox"
      aria-multiselectable="true"
      aria-label={`${label}: values that are searched`}
      aria-activedescendant={idOf(at)}
      tabIndex={0}
      onKeyDown={heard}
      onPointerDown={(e) => {
        e.currentTarget.setPointerCapture?.(e.pointerId);
        setDrag({ from: height(e), to: height(e) });
      }}
      onPointerMove={(e) => drag && setDrag({ ...drag, to: height(e) })}
      onPointerUp={dropped}
      onPointerCancel={() => setDrag(null)}
    >
      <rect class="tvn-hit" x={x - left} y={top - 8} width={left + Math.min(26, gap * 0.4)} height={bottom - top + 16} />
      <path class="tvn-rail" d={`M${x} ${top}V${bottom}`} />
      {values.map((value, i) => {
        const used = on.includes(i);
        return (
          <g
            key={i}
            id={idOf(i)}
            role="option"
            aria-selected={used}
            aria-label={value}
            class={`tvn-value${used ? "" : " tvn-out"}${i === knob.current ? " tvn-now" : ""}${i === at ? " tvn-at" : ""}`}
          >
            <title>
              {label} {value}
            </title>
            <circle cx={x} cy={y(i)} r={used ? 3.5 : 3} />
            {named.has(i) && (
              <text class={fits(value, gap) ? "" : "tvn-shy"} x={x - 8} y={y(i)} dy="0.32em" text-anchor="end">
                {value.length > 9 ? `${value.slice(0, 8)}…` : value}
              </text>
            )}
          </g>
        );
      })}
      {drag && <rect class="tvn-brush" x={x - 8} width="16" y={Math.min(drag.from, drag.to)} height={Math.abs(drag.to - drag.from)} />}
      <path class="tvn-lead" d={`M${x} ${PAD.top - 16 + name.line * LINE}V${top}`} />
      <text class="tvn-axis-name" x={x} y={PAD.top - 20 + name.line * LINE} text-anchor="middle">
        {name.text}
        <title>{help ? `${label}: ${help}` : label}</title>
      </text>
      <text class="tvn-axis-note" x={x} y={bottom + 20} text-anchor="middle">
        {taken ? `${on.length}/${values.length}` : ""}
      </text>
    </g>
  );
}

function Times({ x, box, scale }: { x: number; box: Box; scale: Scale }) {
  return (
    <g class="tvn-axis" aria-hidden="true">
      <path class="tvn-edge" d={`M${x} ${box.top}V${box.bottom}`} />
      {scale.ticks.map((v) => (
        <text key={v} x={x + 8} y={scale(v)} dy="0.32em">
          {seconds(v)}
        </text>
      ))}
      <text class="tvn-axis-name" x={x} y={box.top - 20} text-anchor="middle">
        time
      </text>
    </g>
  );
}
