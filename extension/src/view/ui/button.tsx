import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

interface Props {
  label: ComponentChildren;
  onClick: (event: MouseEvent) => void;
  icon?: IconName;
  /** Said after the label by screen readers, and shown on hover. */
  hint?: string;
  /** Why it cannot be used now: it stays where it is and can be focused, so that the reason can be read. */
  off?: string | false | undefined;
  kind?: "plain" | "main" | "quiet" | "danger";
  pressed?: boolean;
  /** Only the icon is drawn; the label is still its name. */
  bare?: boolean;
  id?: string;
  class?: string;
  attrs?: ButtonHTMLAttributes<HTMLButtonElement>;
}

export function Button({ label, onClick, icon, hint, off, kind = "plain", pressed, bare, id, attrs, ...rest }: Props) {
  const title = off || hint || (bare && typeof label === "string" ? label : undefined);
  return (
    <button
      type="button"
      id={id}
      class={`tvl-button tvl-${kind} ${rest.class ?? ""}`}
      title={title}
      aria-disabled={off ? "true" : undefined}
      aria-pressed={pressed}
      onClick={(event) => (off ? undefined : onClick(event))}
      {...attrs}
    >
      {icon && <Icon name={icon} />}
      <span class={bare ? "tvl-hidden" : "tvl-word"}>{label}</span>
    </button>
  );
}
