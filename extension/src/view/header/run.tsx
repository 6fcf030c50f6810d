import { useDo } from "../do";
import type { Run } from "../payload";
import { useStore } from "../store";
import { Button } from "../ui/button";

const GOING = new Set<Run["state"]>(["queued", "compiling", "checking", "running"]);

export const isGoing = (run: Run): boolean => GOING.has(run.state);

/** Run, or while something runs: how far it is, and how to end it. */
export function RunButton() {
  const { runs, act, width } = useStore();
  const lab = useDo();
  const going = runs.value.rows.find(isGoing);
  const comparing = runs.value.comparison?.state === "running";
  if (!going && !comparing)
    return <Button label="Run" icon="run" kind="main" onClick={lab.run} hint="Ctrl+Enter" />;
  const part = going ? `${Math.round(going.progress * 100)} %` : "";
  const word = width.value === "narrow" ? part : going ? `· ${going.state} ${part}` : "· comparing";
  return (
    <Button
      label={`Cancel ${word}`}
      icon="stop"
      class="tvl-going"
      hint="Esc"
      onClick={() => void act({ kind: "cancel", what: going?.id ?? "" }, "header")}
    />
  );
}
