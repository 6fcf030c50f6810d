// The module that anywidget loads, and that an exported page inlines.
import type { RenderProps } from "@anywidget/types";
import { documentHost, widgetHost } from "./host";
import { mount } from "./mount";
import type { Document } from "./payload";

export function open(element: HTMLElement, document: Document): () => void {
  return mount(element, documentHost(document));
}

function render({ model, el }: RenderProps): () => void {
  return mount(el, widgetHost(model));
}

export default { render };
