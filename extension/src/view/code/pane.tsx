import { useStore } from "../store";

export function CodePane() {
  const { shown } = useStore();
  return <pre>{shown.value.loops.map((line) => "    ".repeat(line.d) + line.t).join("\n")}</pre>;
}
