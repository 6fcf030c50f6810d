// Pictures as files: what is seen, with the colours it is seen in.

const SHOWN = "fill stroke stroke-width stroke-dasharray opacity font-family font-size font-weight text-anchor".split(" ");
const SCALE = 2; // pixels of a PNG per CSS pixel

/** The drawing as SVG text that needs no style sheet. */
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [
    [svg, ...svg.querySelectorAll("*")],
    [copy, ...copy.querySelectorAll("*")],
  ];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of SHOWN) {
      const value = style.getPropertyValue(name);
      if (value) to[i]!.setAttribute(name, value);
    }
    to[i]!.removeAttribute("class");
  });
  const { width, height } = sizeOf(svg);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.removeAttribute("style");
  return new XMLSerializer().serializeToString(copy);
}

/** CSS pixels of the drawing at its own size. */
export function sizeOf(svg: SVGSVGElement): { width: number; height: number } {
  const box = (svg.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  const [, , w = 300, h = 150] = box.length === 4 && box.every(Number.isFinite) ? box : [];
  const own = (name: string, other: number) => {
    const text = svg.getAttribute(name) ?? "";
    const value = parseFloat(text);
    if (!Number.isFinite(value) || text.endsWith("%")) return other;
    return text.endsWith("pt") ? (value * 4) / 3 : value;
  };
  return { width: own("width", w), height: own("height", h) };
}

/** The drawing as a PNG, on the given background. */
export async function png(svg: SVGSVGElement, background: string): Promise<Blob | null> {
  const { width, height } = sizeOf(svg);
  const picture = new Image();
  const address = URL.createObjectURL(new Blob([standalone(svg)], { type: "image/svg+xml" }));
  try {
    await new Promise((resolve, reject) => {
      picture.onload = resolve;
      picture.onerror = reject;
      picture.src = address;
    });
    const canvas = document.createElement("canvas");
    canvas.width = Math.min(8000, Math.ceil(width * SCALE));
    canvas.height = Math.min(8000, Math.ceil(height * SCALE));
    const brush = canvas.getContext("2d")!;
    brush.fillStyle = background;
    brush.fillRect(0, 0, canvas.width, canvas.height);
    brush.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}
