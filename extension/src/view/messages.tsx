import { useStore } from "./store";

export function Messages() {
  const { message } = useStore();
  return <p role="status">{message.value.text}</p>;
}
