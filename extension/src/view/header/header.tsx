import { useStore } from "../store";

export function Header() {
  const { head } = useStore();
  return (
    <header class="tvl-header" data-pane="header" aria-label="Lab">
      {head.value.title}
    </header>
  );
}
