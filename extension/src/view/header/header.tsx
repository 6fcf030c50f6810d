import { useStore } from "../store";

export function Header() {
  const { head } = useStore();
  return <header>{head.value.title}</header>;
}
