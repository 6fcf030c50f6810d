// An SVG text becomes elements by an allow-list: what is not named here does not get into the page.

const SVG = "http://www.w3.org/2000/svg";
const TAGS = new Set("svg g path rect line text tspan title desc circle ellipse polygon polyline".split(" "));
const ATTRIBUTES = new Set(
  (
    "d x y x1 y1 x2 y2 cx cy r rx ry dx dy points transform width height viewBox preserveAspectRatio class role " +
    "fill fill-opacity stroke stroke-width stroke-dasharray text-anchor font-family font-size font-weight xml:space"
  ).split(" "),
);
const DEEP = 200;

/** The picture as an element, or null where the text is no SVG. */
export function sanitised(text: string): SVGSVGElement | null {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.namespaceURI !== SVG || parsed.localName !== "svg") return null;
  return copy(parsed, 0) as SVGSVGElement | null;
}

function copy(from: Element, depth: number): SVGElement | null {
  if (from.namespaceURI !== SVG || !TAGS.has(from.localName) || depth > DEEP) return null;
  const made = document.createElementNS(SVG, from.localName) as SVGElement;
  for (const { name, value } of Array.from(from.attributes)) if (allowed(name, value)) made.setAttribute(name, value);
  for (const child of Array.from(from.childNodes)) {
    if (child.nodeType === Node.TEXT_NODE || child.nodeType === Node.CDATA_SECTION_NODE) made.append(child.nodeValue ?? "");
    else if (child.nodeType === Node.ELEMENT_NODE) made.append(copy(child as Element, depth + 1) ?? "");
  }
  return made;
}

function allowed(name: string, value: string): boolean {
  if (name.startsWith("data-") || name.startsWith("aria-")) return true;
  return ATTRIBUTES.has(name) && !/url\(|javascript:|\\/i.test(value);
}
