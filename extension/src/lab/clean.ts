// Pictures of a document may come from a notebook that nobody trusts: only drawing passes.

const ELEMENTS = new Set(
  `svg g path rect circle ellipse line polyline polygon text tspan title desc defs marker clipPath linearGradient
   radialGradient stop pattern`.split(/\s+/),
);
const ATTRIBUTES = new Set(
  `id class role viewBox width height x y x1 y1 x2 y2 cx cy r rx ry dx dy d points transform fill fill-opacity
   fill-rule stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap stroke-linejoin opacity font-family
   font-size font-weight font-style text-anchor dominant-baseline text-decoration textLength lengthAdjust xml:space
   preserveAspectRatio marker-end marker-start markerWidth markerHeight refX refY orient clip-path offset stop-color
   stop-opacity gradientUnits gradientTransform patternUnits patternTransform data-id data-kind data-ids data-new
   aria-label aria-hidden aria-labelledby tabindex focusable`.split(/\s+/),
);
const MOST = 20_000; // elements
const SVG = "http://www.w3.org/2000/svg";

/** The drawing without anything that loads, links or runs; "" where it is no SVG at all. */
export function cleanSvg(text: string): string {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.namespaceURI !== SVG || parsed.localName !== "svg") return "";
  const left = { n: MOST };
  const root = copy(parsed, left);
  return root ? new XMLSerializer().serializeToString(root) : "";
}

function copy(from: Element, left: { n: number }): Element | null {
  if (from.namespaceURI !== SVG || !ELEMENTS.has(from.localName) || left.n-- <= 0) return null;
  const to = document.createElementNS(SVG, from.localName);
  for (const { name, value } of from.attributes) {
    if (ATTRIBUTES.has(name) && stays(value)) to.setAttribute(name, value);
  }
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) to.append(node.textContent ?? "");
    const child = node.nodeType === Node.ELEMENT_NODE ? copy(node as Element, left) : null;
    if (child) to.append(child);
  }
  return to;
}

/** Inside this document: url(#name) at most. CSS may spell url with escapes, so no backslash passes. */
function stays(value: string): boolean {
  return !value.includes("\\") && !/url\s*\((?!\s*['"]?#)|:\/\//i.test(value);
}
