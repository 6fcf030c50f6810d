// Modelled numbers of the schedule, drawn here from the frame: they are there for every step, and with no kernel.
import type { Metrics } from "../payload";
import type { Store } from "../store";
import { bytes } from "../ui/format";
import { caches, facts, scale } from "./levels";

const ROW = 28;
const LEFT = 104;
const WIDTH = 400;
const TOP = 36;
const RIGHT = 70;

export function MetricsView({ store, metrics }: { store: Store; metrics: Metrics }) {
  const machine = store.head.value.machines.find((m) => m.name === store.head.value.machine);
  return (
    <div class="tvl-metrics">
      <dl>
        {facts(metrics).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {metrics.why && <p class="tvl-soft-text">{metrics.why}</p>}
      {metrics.levels.length > 0 && <Chart store={store} metrics={metrics} sizes={caches(machine)} />}
      {metrics.levels.length > 0 && machine && <p class="tvl-soft-text">Dashed lines: the caches of {machine.label}.</p>}
    </div>
  );
}

function Chart({ store, metrics, sizes }: { store: Store; metrics: Metrics; sizes: { name: string; bytes: number }[] }) {
  const { levels } = metrics;
  const most = Math.max(...levels.map((l) => Math.max(l.bytes, l.moved)), ...sizes.map((s) => s.bytes));
  const to = scale(most);
  const span = WIDTH - LEFT - RIGHT;
  const height = TOP + levels.length * ROW + 6;
  const x = (value: number) => LEFT + to(value) * span;
  const selected = new Set(store.selection.value);
  return (
    <svg
      class="tvl-chart"
      viewBox={`0 0 ${WIDTH} ${height}`}
      role="img"
      aria-label="Bytes touched and moved by each loop, against the caches. The table says the same."
    >
      {sizes.map((size, i) => (
        <g key={size.name}>
          <line class="tvl-chart-roof" x1={x(size.bytes)} x2={x(size.bytes)} y1={TOP - 6} y2={height} />
          <text class="tvl-chart-soft" x={x(size.bytes)} y={TOP - 10 - (i % 2) * 13} text-anchor="middle">
            {size.name} {bytes(size.bytes)}
          </text>
        </g>
      ))}
      {levels.map((level, i) => {
        const y = TOP + i * ROW;
        return (
          <g key={level.id} data-id={level.id} class={selected.has(level.id) ? "tvl-chosen" : ""}>
            <title>{`${level.name}: touches ${bytes(level.bytes)}, moves ${bytes(level.moved)} while it runs once`}</title>
            <rect class="tvl-chart-hit" x={0} y={y} width={WIDTH} height={ROW} />
            <text class="tvl-chart-name" x={LEFT - 8} y={y + 17} text-anchor="end">
              {level.name.length > 15 ? `${level.name.slice(0, 14)}…` : level.name}
            </text>
            <rect class="tvl-chart-moved" x={LEFT} y={y + 18} width={Math.max(1, x(level.moved) - LEFT)} height={3} />
            <rect class="tvl-chart-bar" x={LEFT} y={y + 6} width={Math.max(1, x(level.bytes) - LEFT)} height={10} />
            <text class="tvl-chart-soft" x={x(level.bytes) + 5} y={y + 15}>
              {bytes(level.bytes)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
