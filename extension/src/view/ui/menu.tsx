// A button that opens a list of things to do or to pick from.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { nextOf } from "../focus";
import { useEscape } from "../keys";
import { Icon, type IconName } from "./icon";

export interface Item {
  id: string;
  label: string;
  /** A second line. */
  note?: string;
  icon?: IconName;
  /** Why it cannot be picked: it is listed all the same. */
  off?: string | undefined;
  /** In a list to pick from: the current one. */
  checked?: boolean;
  keys?: string;
}

interface Props {
  label: ComponentChildren;
  /** What the menu is about, for the ear; the button's text when left out. */
  name: string;
  items: Item[];
  onPick: (id: string) => void;
  id?: string;
  icon?: IconName;
  class?: string;
  /** At the right edge of its button. */
  end?: boolean;
  up?: boolean;
  hint?: string | undefined;
}

export function Menu({ label, name, items, onPick, id, icon, end, up, hint, ...rest }: Props) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (back: boolean) => {
    setOpen(false);
    if (back) button.current?.focus();
  };
  useEscape(open, () => close(true));
  useLayoutEffect(() => {
    if (!open) return;
    const list = [...(box.current?.querySelectorAll<HTMLElement>("[data-item]") ?? [])];
    (list.find((i) => i.getAttribute("aria-checked") === "true") ?? list[0])?.focus();
    const outside = (event: Event) => !box.current?.contains(event.target as Node) && close(false);
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [open]);
  const radio = items.some((item) => item.checked !== undefined);
  const pick = (item: Item) => {
    if (item.off) return;
    close(true);
    onPick(item.id);
  };
  return (
    <div
      class={`tvl-menu ${rest.class ?? ""}`}
      ref={box}
      onFocusOut={(e) => open && e.relatedTarget && !box.current?.contains(e.relatedTarget as Node) && close(false)}
    >
      <button
        type="button"
        id={id}
        ref={button}
        class="tvl-button tvl-plain"
        aria-haspopup="menu"
        aria-expanded={open}
        title={hint}
        onClick={() => setOpen(!open)}
        onKeyDown={(e) => {
          if (e.key !== "ArrowDown" || open) return;
          e.preventDefault();
          setOpen(true);
        }}
      >
        {icon && <Icon name={icon} />}
        <span class="tvl-word">{label}</span>
        <Icon name="down" />
      </button>
      {open && (
        <div
          role="menu"
          aria-label={name}
          class={`tvl-popup ${end ? "tvl-popup-end" : ""} ${up ? "tvl-popup-up" : ""}`}
          onKeyDown={(e) => walk(e, e.currentTarget)}
        >
          {items.map((item) => (
            <button
              type="button"
              key={item.id}
              data-item
              role={radio ? "menuitemradio" : "menuitem"}
              aria-checked={radio ? !!item.checked : undefined}
              aria-disabled={item.off ? "true" : undefined}
              tabIndex={-1}
              onClick={() => pick(item)}
            >
              {(radio || item.icon) && (
                <span class="tvl-popup-icon">
                  {item.checked ? <Icon name="check" /> : item.icon ? <Icon name={item.icon} /> : null}
                </span>
              )}
              <span class="tvl-popup-text">
                <span>{item.label}</span>
                {(item.off || item.note) && <small>{item.off || item.note}</small>}
              </span>
              {item.keys && <kbd>{item.keys}</kbd>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function walk(event: KeyboardEvent, menu: HTMLElement): void {
  const list = [...menu.querySelectorAll<HTMLElement>("[data-item]")];
  const at = list.indexOf(document.activeElement as HTMLElement);
  const to = nextOf(event.key, at, list.length, "y");
  if (to === null) return;
  event.preventDefault();
  list[to]?.focus();
}
