// The last thing that happened: one polite live region. A refusal that was asked for nowhere else shows here too.
import "./messages.css";
import { useStore } from "./store";
import { Chip } from "./ui/chip";
import { Spinner } from "./ui/spinner";

export function Messages() {
  const { message, said, busy, lost, letters } = useStore();
  const { kind, n } = message.value;
  const text = said.value || message.value.text;
  return (
    <div class="tvl-messages">
      {busy.value && <Spinner label="waiting for the kernel" />}
      {busy.value === "waiting" && <Chip tone="unknown">waiting: a cell is running</Chip>}
      {lost.value && <Chip tone="illegal">disconnected</Chip>}
      <p role="status" class={`tvl-message-${said.value ? "info" : kind}`}>
        {/* The same text twice is another element, so that it is said twice. */}
        <span key={said.value ? "said" : n}>{text}</span>
      </p>
      <span class="tvl-keys-here" title={letters.value ? "Keys act on the lab; Esc leaves it" : "Letters are turned off"}>
        keys: lab
      </span>
    </div>
  );
}
