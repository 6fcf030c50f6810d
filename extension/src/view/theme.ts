// Light or dark, as the host says; with a host that says nothing, as the person's system does.

export type Theme = "light" | "dark";

export function themeOf(document: Document, prefersDark: boolean): Theme {
  const { body, documentElement: html } = document;
  const lab = body.getAttribute("data-jp-theme-light");
  if (lab) return lab === "false" ? "dark" : "light";
  const own = html.getAttribute("theme") ?? html.getAttribute("data-theme");
  if (own === "dark" || own === "light") return own;
  if (body.classList.contains("vscode-dark") || body.classList.contains("vscode-high-contrast")) return "dark";
  if (body.classList.contains("vscode-light")) return "light";
  return prefersDark ? "dark" : "light";
}

/** Keeps `data-theme` of the element as the host's theme is; returns how to stop. */
export function followTheme(element: HTMLElement): () => void {
  const { ownerDocument: document } = element;
  const system = document.defaultView?.matchMedia?.("(prefers-color-scheme: dark)");
  const set = () => (element.dataset.theme = themeOf(document, system?.matches ?? false));
  const watch = new MutationObserver(set);
  const attributeFilter = ["data-jp-theme-light", "data-jp-theme-name", "theme", "data-theme", "class"];
  watch.observe(document.body, { attributes: true, attributeFilter });
  watch.observe(document.documentElement, { attributes: true, attributeFilter });
  system?.addEventListener?.("change", set);
  set();
  return () => {
    watch.disconnect();
    system?.removeEventListener?.("change", set);
  };
}
