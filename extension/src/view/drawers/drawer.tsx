// The frame of a drawer: over the panes, never over the header; Esc closes it and gives the focus back.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useEscape } from "../keys";
import { useStore } from "../store";
import { Boundary } from "../ui/boundary";
import { Button } from "../ui/button";

interface Props {
  title: string;
  size?: "small" | "large";
  foot?: ComponentChildren;
  children: ComponentChildren;
}

export function Drawer({ title, size = "small", foot, children }: Props) {
  const { drawer } = useStore();
  const box = useRef<HTMLElement>(null);
  const close = () => (drawer.value = "");
  useEscape(true, close);
  const first = () => box.current?.querySelector<HTMLElement>("[data-first]")?.focus({ preventScroll: true });
  useLayoutEffect(() => {
    const had = document.activeElement;
    const lab = box.current?.closest(".tvl");
    box.current?.focus({ preventScroll: true });
    return () => {
      const now = document.activeElement;
      const free = !now || now === document.body || box.current?.contains(now);
      // Back to what had it, else on with the lab: the focus stays inside.
      const to = lab?.contains(had) ? had : lab?.querySelector("[role=treeitem][tabindex='0']");
      if (free && to instanceof HTMLElement) to.focus({ preventScroll: true });
    };
  }, []);
  // A new lab begins with a drawer, and is drawn before it is on the page.
  useEffect(() => void (box.current?.contains(document.activeElement) || box.current?.focus({ preventScroll: true })), []);
  // What the drawer begins with may come from the kernel, after its frame.
  useEffect(() => void (document.activeElement === box.current && first()));
  return (
    <section class={`tvl-drawer tvl-drawer-${size}`} role="dialog" aria-label={title} data-pane="drawer" tabIndex={-1} ref={box}>
      <div class="tvl-bar">
        <h2>{title}</h2>
        <div class="tvl-tools">
          <Button label="Close" icon="close" kind="quiet" hint="Close (Esc)" onClick={close} />
        </div>
      </div>
      <div class="tvl-drawer-body">
        <Boundary name={`drawer ${title}`}>{children}</Boundary>
      </div>
      {foot && <div class="tvl-drawer-foot">{foot}</div>}
    </section>
  );
}
