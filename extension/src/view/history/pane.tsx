// The steps: where one stands, how the numbers went, and what can be changed of a step already taken.
import "./history.css";
import { useRef, useState } from "preact/hooks";
import { useRoving } from "../focus";
import { useStore } from "../store";
import { Button } from "../ui/button";
import { Pane } from "../ui/pane";
import { Refusal } from "../ui/refusal";
import { Branches } from "./branches";
import { Film } from "./film";
import { StepBar } from "./stepbar";
import { Trends } from "./trends";

export function HistoryPane() {
  const { width, acting } = useStore();
  const [open, setOpen] = useState(0); // how often it was asked for since it was closed
  const editing = acting.value && (open > 0 || width.value === "narrow");
  return (
    <Pane name="history" title="History" tools={<Tools open={open > 0} toggle={() => setOpen(open ? 0 : 1)} />}>
      <Film onEdit={() => setOpen(open + 1)} />
      {editing && <StepBar asked={open} onClose={() => setOpen(0)} />}
      <Refusal at="history" />
      {(!editing || width.value === "narrow") && <Trends />}
    </Pane>
  );
}

function Tools({ open, toggle }: { open: boolean; toggle: () => void }) {
  const { at, history, jump, runs, drawer, acting, width } = useStore();
  const bar = useRef<HTMLDivElement>(null);
  useRoving(bar);
  const last = history.value.steps.length;
  const narrow = width.value === "narrow";
  const n = runs.value.rows.length;
  return (
    <div class="tvl-tools" role="toolbar" aria-label="History" ref={bar}>
      <span class="tvl-joined">
        <Button label="Back" icon="left" bare={narrow} hint="[" off={at.value === 0 && "the start"} onClick={() => void jump(at.value - 1)} />
        <Button label="Forward" icon="right" bare={narrow} hint="]" off={at.value >= last && "the last step"} onClick={() => void jump(at.value + 1)} />
      </span>
      {acting.value && !narrow && (
        <Button
          label="Edit step"
          pressed={open}
          off={!open && at.value === 0 && "Choose a step"}
          onClick={toggle}
          hint="Enter"
        />
      )}
      <Branches />
      {!narrow && <Button label={n ? `Runs ${n}` : "Runs"} onClick={() => (drawer.value = "runs")} />}
      {!narrow && <Button label="Compare" onClick={() => (drawer.value = "compare")} />}
    </div>
  );
}
