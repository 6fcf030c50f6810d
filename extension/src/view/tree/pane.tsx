import { useStore } from "../store";

export function TreePane() {
  const { shown } = useStore();
  return (
    <ul>
      {shown.value.tree.map((row) => (
        <li key={row.id}>{row.name}</li>
      ))}
    </ul>
  );
}
