// How wide the lab is drawn and how high: by its own box, not by the window's, and as the person left it.
import { useEffect } from "preact/hooks";
import type { Store, Width } from "./store";
import { recall, remember } from "./ui/remember";

const WIDE = 960; // CSS pixels
const MEDIUM = 600;
export const LEAST_HEIGHT = 360;

export function widthOf(pixels: number): Width {
  if (pixels >= WIDE) return "wide";
  return pixels >= MEDIUM ? "medium" : "narrow";
}

export function useLayout(root: HTMLElement, store: Store): void {
  useEffect(() => {
    const set = (pixels: number) => {
      if (!pixels) return; // not on the page now
      root.dataset.width = store.width.value = widthOf(pixels);
    };
    set(root.clientWidth);
    const watch = new ResizeObserver(() => set(root.clientWidth));
    watch.observe(root);
    return () => watch.disconnect();
  }, [root, store]);
  useEffect(() => {
    const height = Number(recall(heightKey(root)));
    if (height >= LEAST_HEIGHT) root.style.height = `${height}px`;
  }, [root]);
}

export function setHeight(root: HTMLElement, pixels: number): void {
  const height = Math.round(Math.max(LEAST_HEIGHT, Math.min(pixels, 2400)));
  root.style.height = `${height}px`;
  remember(heightKey(root), String(height));
}

/** One height per notebook. */
const heightKey = (root: HTMLElement) => `height:${root.ownerDocument.location?.pathname ?? ""}`;
