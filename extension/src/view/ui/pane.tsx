// The frame of a pane: a labelled region with a bar on top. Keys are registered for it by its name (`useKeys(name, ...)`).
import type { ComponentChildren, RefObject } from "preact";
import { Boundary } from "./boundary";

interface Props {
  name: string;
  title: string;
  /** Controls at the right of the bar. */
  tools?: ComponentChildren;
  /** Instead of the title: tabs. */
  head?: ComponentChildren;
  of?: unknown;
  class?: string;
  body?: RefObject<HTMLDivElement | null>;
  children: ComponentChildren;
}

export function Pane({ name, title, tools, head, of, body, children, ...rest }: Props) {
  return (
    <section class={`tvl-pane tvl-pane-${name} ${rest.class ?? ""}`} data-pane={name} aria-label={title} tabIndex={-1}>
      <div class="tvl-bar">
        {head ?? <h2>{title}</h2>}
        {tools && <div class="tvl-tools">{tools}</div>}
      </div>
      <div class="tvl-body" ref={body}>
        <Boundary name={name} of={of}>
          {children}
        </Boundary>
      </div>
    </section>
  );
}
