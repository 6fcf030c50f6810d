// The tabs pattern: one tab stop, arrows go to the next tab and show it.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { nextOf } from "../focus";

export interface Tab {
  id: string;
  label: string;
  title?: string;
}

interface Props {
  label: string;
  tabs: Tab[];
  current: string;
  onPick: (id: string) => void;
  /** Begins the ids of the tabs and of their panel (`tabPanel(name)`); unique in the page. */
  name: string;
  after?: ComponentChildren;
}

export const tabPanel = (name: string) => `${name}-panel`;

export function Tabs({ label, tabs, current, onPick, name, after }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const go = (event: KeyboardEvent) => {
    const at = tabs.findIndex((t) => t.id === current);
    const to = nextOf(event.key, at, tabs.length, "x");
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onPick(tabs[to]!.id);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
  };
  const known = tabs.some((t) => t.id === current);
  return (
    <div class="tvl-tabs">
      <div role="tablist" aria-label={label} ref={list} onKeyDown={go}>
        {tabs.map((tab, i) => (
          <button
            type="button"
            role="tab"
            key={tab.id}
            id={`${name}-tab-${i}`}
            title={tab.title}
            aria-selected={tab.id === current}
            aria-controls={tab.id === current ? tabPanel(name) : undefined}
            tabIndex={tab.id === current || (!known && i === 0) ? 0 : -1}
            onClick={() => onPick(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      {after}
    </div>
  );
}
