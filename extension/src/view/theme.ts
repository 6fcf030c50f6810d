// Light or dark, as the host says; with a host that says nothing, as the person's system does.

export type Theme = "light" | "dark";

export function themeOf(document: Document, prefersDark: boolean): Theme {
  const { body, documentElement: html } = document;
  const lab = body.getAttribute("data-jp-theme-light");
  if (lab) return lab === "false" ? "dark" : "light";
  const own = html.getAttribute("theme") ?? html.getAttribute("data-theme") ?? body.className;
  if (/dark|high-contrast$/.test(own)) return "dark";
  return /light/.test(own) || !prefersDark ? "light" : "dark";
}

/** Keeps `data-theme` of the element as the host's theme is; returns how to stop. */
export function followTheme(element: HTMLElement): () => void {
  const { ownerDocument: document } = element;
  const system = document.defaultView?.matchMedia?.("(prefers-color-scheme: dark)");
  const set = () => (element.dataset.theme = themeOf(document, system?.matches ?? false));
  const watch = new MutationObserver(set);
  for (const of of [document.body, document.documentElement]) watch.observe(of, { attributes: true });
  system?.addEventListener?.("change", set);
  set();
  return () => {
    watch.disconnect();
    system?.removeEventListener?.("change", set);
  };
}
