// An SVG of the kernel in the page: cleaned, clickable, with the selection marked.
import { useLayoutEffect, useRef } from "preact/hooks";
import { sanitised } from "./sanitise";
import { sizeOf } from "./save";

interface Props {
  svg: string;
  label: string;
  /** Not wider than the pane. */
  fit: boolean;
  selected: string[];
  hover: string;
  onPick: (id: string, more: boolean) => void;
  onHover: (id: string) => void;
  holder: { current: HTMLDivElement | null };
}

export function Drawing({ svg, label, fit, selected, hover, onPick, onHover, holder }: Props) {
  const broken = useRef(false);
  useLayoutEffect(() => {
    const made = svg ? sanitised(svg) : null;
    broken.current = !made;
    if (!made) return holder.current?.replaceChildren("This picture could not be read; its table says the same.");
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", label);
    const { width, height } = sizeOf(made);
    if (!made.hasAttribute("viewBox")) made.setAttribute("viewBox", `0 0 ${width} ${height}`);
    made.removeAttribute("width");
    made.removeAttribute("height");
    made.dataset.width = String(width);
    holder.current?.replaceChildren(made);
  }, [svg, label]);
  useLayoutEffect(() => {
    const made = holder.current?.querySelector<SVGSVGElement>("svg");
    if (!made) return;
    const own = Number(made.dataset.width) || 300;
    made.style.width = fit ? "" : `${own * 1.5}px`;
    made.style.maxWidth = fit ? `min(100%, ${own * 1.25}px)` : "none";
  }, [svg, fit]);
  useLayoutEffect(() => {
    const chosen = new Set(selected);
    for (const element of Array.from(holder.current?.querySelectorAll("[data-id]") ?? [])) {
      const id = element.getAttribute("data-id")!;
      element.classList.toggle("tvl-chosen", chosen.has(id));
      element.classList.toggle("tvl-hot", id === hover);
    }
  }, [svg, selected, hover]);
  const at = (event: Event) => (event.target as Element).closest?.("[data-id]")?.getAttribute("data-id") ?? "";
  return (
    <div
      ref={holder}
      class="tvl-drawing"
      onClick={(event) => at(event) && onPick(at(event), event.ctrlKey || event.metaKey || event.shiftKey)}
      onPointerOver={(event) => onHover(at(event))}
      onPointerLeave={() => onHover("")}
    />
  );
}
