import { useStore } from "../store";
import { Pane } from "../ui/pane";

export function HistoryPane() {
  const { history, act } = useStore();
  return (
    <Pane name="history" title="History">
      <ol>
        {history.value.steps.map((step, i) => (
          <li key={step.id}>
            <button type="button" onClick={() => void act({ kind: "jump", cursor: i + 1 })}>
              {step.label}
            </button>
          </li>
        ))}
      </ol>
    </Pane>
  );
}
