import { useStore } from "../store";

export function ActionsPane() {
  const { actions, act } = useStore();
  return (
    <ul>
      {actions.value.items.map((item) => (
        <li key={item.name}>
          <button onClick={() => item.act && act({ kind: "apply", act: item.act }, item.name)}>{item.label}</button>
        </li>
      ))}
    </ul>
  );
}
