// One line of the actions list: glyph, name, letter, word and reason; what is open under it comes as children.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { Action } from "../payload";
import { SignMark, signTone } from "../ui/sign";

interface Props {
  action: Action;
  id: string;
  stop: boolean;
  open: boolean;
  onStart: () => void;
  onWhy: () => void;
  onHover: (over: boolean) => void;
  onFocus: (on: boolean) => void;
  children: ComponentChildren;
}

export function Item({ action, id, stop, open, onStart, onWhy, onHover, onFocus, children }: Props) {
  const { sign } = action;
  // Where the layout changes under a pointer that rests, the browser says that it entered, but not that it moved.
  const over = useRef(false);
  const point = (now: boolean) => {
    if (now !== over.current) onHover((over.current = now));
  };
  const reason = action.reason.replaceAll("`", "");
  return (
    <li
      class={`tvl-action tvl-action-${signTone(sign)}${open ? " tvl-open" : ""}`}
      data-action={action.name}
      onPointerMove={() => point(true)}
      onPointerLeave={() => point(false)}
    >
      <div class="tvl-action-line">
        <button
          type="button"
          id={id}
          data-start
          tabIndex={stop ? 0 : -1}
          title={[action.help, action.code].filter(Boolean).join("\n")}
          aria-disabled={sign === "x" || sign === "=" ? true : undefined}
          aria-expanded={action.params.length || action.card ? open : undefined}
          aria-describedby={`${id}-why`}
          aria-keyshortcuts={action.key || undefined}
          onClick={onStart}
          onFocus={() => onFocus(true)}
          onBlur={() => onFocus(false)}
        >
          <SignMark sign={sign} />
          <span class="tvl-action-name">{action.label}</span>
          {action.key && <kbd aria-hidden="true">{action.key}</kbd>}
        </button>
        <p id={`${id}-why`} class="tvl-action-reason" title={reason || undefined}>
          <span class={`tvl-tone-${signTone(sign)}`}>{action.word}</span>
          {reason && ` ${reason}`}
        </p>
        {action.card && (
          <button
            type="button"
            class="tvl-link"
            tabIndex={-1}
            aria-label={`why is ${action.label} ${action.word}?`}
            onClick={onWhy}
          >
            why?
          </button>
        )}
      </div>
      {children}
    </li>
  );
}
