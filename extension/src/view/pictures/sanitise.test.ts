// @vitest-environment jsdom
import { expect, test } from "vitest";
import { sanitised } from "./sanitise";

const svg = (inside: string) =>
  sanitised(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9">${inside}</svg>`);

test("pictures pass", () => {
  const made = svg('<g class="node" data-id="C.i"><title>a &lt;b&gt;</title><rect x="1" fill="#fff"/><text>x</text></g>')!;
  expect(made.querySelector("[data-id]")!.getAttribute("data-id")).toBe("C.i");
  expect(made.querySelector("title")!.textContent).toBe("a <b>");
  expect(made.getAttribute("width")).toBe("9");
});

test("what could run or reach out is not there", () => {
  const made = svg(
    '<script>1</script><foreignObject><p>x</p></foreignObject><image href="http://x/"/><use href="#a"/><style>*{}</style>' +
      '<animate/><rect onclick="x()" style="fill:url(http://x)" fill="url(http://x)" id="a"/><g><set/></g>' +
      '<a xlink:href="javascript:x()" href="http://x"><text>gone</text></a><text>kept</text>',
  )!;
  expect(made.outerHTML).not.toMatch(/script|foreign|image|use|style|onclick|http:\/\/x|animate|href|<set|id=/);
  expect(made.textContent).toBe("kept");
});

test("text that is no SVG gives nothing", () => {
  expect(sanitised("<p>hello")).toBeNull();
  expect(sanitised("")).toBeNull();
});
