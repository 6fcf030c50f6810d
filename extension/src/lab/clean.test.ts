// @vitest-environment jsdom
import { expect, test } from "vitest";
import { cleanSvg } from "./clean";

const wrap = (inside: string, attributes = "") => `<svg xmlns="http://www.w3.org/2000/svg" ${attributes}>${inside}</svg>`;

test("a drawing passes as it is", () => {
  const text = wrap('<g id="n" data-id="C.i"><path d="M0 0" fill="url(#g)"/><text x="1">a &lt; b</text></g>', 'viewBox="0 0 4 4"');
  const parsed = new DOMParser().parseFromString(cleanSvg(text), "image/svg+xml");
  expect(parsed.querySelector("g")?.getAttribute("data-id")).toBe("C.i");
  expect(parsed.querySelector("path")?.getAttribute("fill")).toBe("url(#g)");
  expect(parsed.querySelector("text")?.textContent).toBe("a < b");
  expect(parsed.documentElement.getAttribute("viewBox")).toBe("0 0 4 4");
});

test.each([
  ["a script", wrap("<script>alert(1)</script>")],
  ["a handler", wrap('<g onclick="alert(1)"/>', 'onload="alert(1)"')],
  ["HTML inside", wrap('<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="javascript:alert(1)"/></foreignObject>')],
  ["a link", wrap('<a href="javascript:alert(1)"><circle r="1"/></a>')],
  ["an outside image", wrap('<image href="http://example.org/alert"/>')],
  ["a use of an outside file", wrap('<use href="http://example.org/alert#a"/>')],
  ["an animation of a link", wrap('<animate attributeName="href" values="javascript:alert(1)"/>')],
  ["a style sheet", wrap("<style>@import 'http://example.org/alert'</style>")],
  ["an inline style", wrap('<g style="background: url(http://example.org/alert)"/>')],
  ["an outside paint", wrap('<path fill="url(http://example.org/alert)"/>')],
  ["an outside paint in escapes", wrap('<path fill="u\\72l(alert)"/>')],
])("%s does not", (_, text) => {
  expect(cleanSvg(text)).toContain("<svg");
  expect(cleanSvg(text)).not.toMatch(/alert|javascript|example|href|style/);
});

test.each(["", "no markup", "<html><body>x</body></html>", "<svg>no namespace</svg>", "<svg xmlns='http://www.w3.org/2000/svg'><g>"])(
  "%s is no drawing",
  (text) => expect(cleanSvg(text)).not.toMatch(/x|namespace|<g>/),
);

test("a huge drawing is cut", () => {
  expect(cleanSvg(wrap("<g/>".repeat(30_000))).length).toBeLessThan(150_000);
});
