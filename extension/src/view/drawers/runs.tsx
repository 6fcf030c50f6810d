// What was measured: newest first, each with its spread, its check, and what went wrong.
import "./runs.css";
import { isGoing, RunButton } from "../header/run";
import type { Run } from "../payload";
import { useStore } from "../store";
import { Button } from "../ui/button";
import { CardView } from "../ui/card";
import { Chip } from "../ui/chip";
import { gflops, seconds, spread, times } from "../ui/format";
import { Refusal } from "../ui/refusal";
import { Drawer } from "./drawer";
import { Options } from "./options";
import { Strip, type Range } from "./strip";
import { WrongElement } from "./wrong";

export function RunsDrawer() {
  const { runs, acting, history, act, drawer } = useStore();
  const { rows } = runs.value;
  const all = rows.flatMap((r) => r.times);
  const range: Range = { low: Math.min(...all), high: Math.max(...all) };
  const steps = history.value.steps.length > 0;
  return (
    <Drawer
      title="Runs"
      size="large"
      foot={
        acting.value && (
          <>
            <RunButton />
            <Button label="Compare" onClick={() => (drawer.value = "compare")} />
            {steps && (
              <Button
                label="What is each step worth?"
                onClick={() => void act({ kind: "ablate" }, "runs")}
              />
            )}
          </>
        )
      }
    >
      {acting.value && <Options />}
      <Refusal at="runs" />
      {rows.length === 0 ? (
        <p class="tvl-lead tvl-soft-text">
          Nothing was run yet. A run is checked, then timed, in a process of its own, and can be cancelled.
        </p>
      ) : (
        <div class="tvl-scroll">
          <table class="tvl-table tvl-runs">
            <thead>
              <tr>
                {["schedule", "time, measured", "every repeat", "check", "library", "compile", "what to do"].map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((run) => (
                <RunRow key={run.id} run={run} range={range} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <Worths />
    </Drawer>
  );
}

function RunRow({ run, range }: { run: Run; range: Range }) {
  const detail = run.wrong || run.error;
  return (
    <>
      <tr class={detail ? "tvl-with-detail" : ""}>
        <th scope="row">
          <span>{run.title}</span>
          <small>
            {run.id} · {run.when} · {run.target}, {run.threads || "all"} {run.threads === 1 ? "thread" : "threads"}
          </small>
          {run.size && <small>{run.size}</small>}
          <span class="tvl-row">
            {run.pinned && <Chip tone="accent">pinned</Chip>}
            {run.stale && <Chip title="The schedule has gone on since">earlier schedule</Chip>}
          </span>
        </th>
        {isGoing(run) ? (
          <td colSpan={5}>
            <Progress run={run} />
          </td>
        ) : (
          <Numbers run={run} range={range} />
        )}
        <td>
          <RowDoing run={run} />
        </td>
      </tr>
      {detail && (
        <tr class="tvl-detail">
          <td colSpan={7}>
            {run.wrong && <WrongElement wrong={run.wrong} worst={run.worst} />}
            {run.error && <CardView card={run.error} />}
          </td>
        </tr>
      )}
    </>
  );
}

function Numbers({ run, range }: { run: Run; range: Range }) {
  const ratio = run.seconds && run.baseline ? run.baseline / run.seconds : null;
  const text = run.state !== "done" ? run.state : run.check === "wrong" || run.untimed ? "not timed" : seconds(run.seconds);
  return (
    <>
      <td>
        <b class={run.state === "failed" ? "tvl-tone-illegal" : ""}>{text}</b>
        {run.seconds !== null && <small>{[spread(run.spread, run.seconds), run.gflops !== null && gflops(run.gflops)].filter(Boolean).join(" · ")}</small>}
      </td>
      <td>
        <Strip times={run.times} range={range} />
      </td>
      <td>
        <Check run={run} />
      </td>
      <td>
        {run.baseline === null ? "–" : seconds(run.baseline)}
        <small>
          {run.baseline_name}
          {ratio !== null && `, ${times(ratio)} its speed`}
        </small>
      </td>
      <td>{run.compile === null ? "–" : seconds(run.compile)}</td>
    </>
  );
}

function Check({ run }: { run: Run }) {
  if (run.check === "ok")
    return (
      <span class="tvl-tone-legal" title={run.worst}>
        ✓ right
      </span>
    );
  if (run.check === "wrong") return <b class="tvl-tone-illegal">× wrong</b>;
  return <span class="tvl-soft-text">{run.check === "skipped" ? "skipped" : "–"}</span>;
}

function Progress({ run }: { run: Run }) {
  return (
    <span class="tvl-row">
      <progress max={1} value={run.state === "queued" ? 0 : run.progress} aria-label={run.state} />
      {run.state}
    </span>
  );
}

function RowDoing({ run }: { run: Run }) {
  const { acting, act, pair, drawer } = useStore();
  if (!acting.value) return null;
  if (isGoing(run)) return <Button label="Cancel" icon="stop" onClick={() => void act({ kind: "cancel", what: run.id }, "runs")} />;
  if (run.seconds === null) return null;
  const compare = () => {
    pair.value = { a: "", b: run.id };
    drawer.value = "compare";
  };
  return (
    <span class="tvl-joined">
      <Button label={run.pinned ? "Unpin" : "Pin"} pressed={run.pinned} onClick={() => void act({ kind: "pin", what: run.id }, "runs")} />
      <Button label="Compare" onClick={compare} />
    </span>
  );
}

/** What each step was worth, when that was measured. */
function Worths() {
  const { runs, history } = useStore();
  const { ablation } = runs.value;
  if (!ablation.length) return null;
  const { steps } = history.value;
  return (
    <section class="tvl-worths">
      <h3>What each step is worth</h3>
      <ul>
        {ablation.map((w) => {
          const at = steps.findIndex((s) => s.id === w.id);
          return (
            <li key={w.id}>
              <span>{at >= 0 ? `${at + 1} ${steps[at]!.label}` : "a step that is gone"}</span>
              <b>{w.text}</b>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
