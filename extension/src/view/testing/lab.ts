// A lab in jsdom, with a kernel that answers from tables: press keys, click, look at what was asked.
import { mount } from "../mount";
import type { Request } from "../payload";
import { fakeHost, type FakeHost } from "./kernel";

export interface Opened {
  host: FakeHost;
  root: HTMLElement;
  one<E extends HTMLElement = HTMLElement>(selector: string): E;
  all(selector: string): HTMLElement[];
  /** A key to whatever has the focus. */
  press(key: string, more?: KeyboardEventInit): Promise<KeyboardEvent>;
  click(element: Element, more?: MouseEventInit): Promise<void>;
  type(field: HTMLInputElement, text: string): Promise<void>;
  asked(kind: string): Request[];
  rest(ms?: number): Promise<void>;
  close(): void;
}

export async function openLab(answers: Record<string, (request: Request) => unknown> = {}): Promise<Opened> {
  globalThis.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  const host = fakeHost(answers);
  const box = document.createElement("div");
  document.body.append(box);
  const close = mount(box, host);
  const root = box.firstElementChild as HTMLElement;
  const rest = (ms = 60) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const lab: Opened = {
    host,
    root,
    one: <E extends HTMLElement>(selector: string) => {
      const found = root.querySelector<E>(selector);
      if (!found) throw new Error(`nothing is ${selector}`);
      return found;
    },
    all: (selector) => Array.from(root.querySelectorAll<HTMLElement>(selector)),
    async press(key, more = {}) {
      const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
      (document.activeElement ?? document.body).dispatchEvent(event);
      await rest();
      return event;
    },
    async click(element, more = {}) {
      element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...more }));
      await rest();
    },
    async type(field, text) {
      field.value = text;
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
      await rest(120);
    },
    asked: (kind) => host.asked.filter((request) => request.kind === kind),
    rest,
    close() {
      close();
      box.remove();
    },
  };
  await rest();
  return lab;
}
