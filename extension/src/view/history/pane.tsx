import { useStore } from "../store";

export function HistoryPane() {
  const { history } = useStore();
  return (
    <ol>
      {history.value.steps.map((step) => (
        <li key={step.id}>{step.label}</li>
      ))}
    </ol>
  );
}
