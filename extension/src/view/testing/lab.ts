// A lab in jsdom, with a kernel that answers from tables: press keys, click, look at what was asked.
import type { Host } from "../host";
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
  /** So many milliseconds, or until nothing is drawn or asked any more. */
  rest(ms?: number): Promise<void>;
  close(): void;
}

/** `other`: another host than the small lab of kernel.ts. */
export async function openLab(answers: Record<string, (request: Request) => unknown> = {}, other?: Host): Promise<Opened> {
  globalThis.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  const host = other && "asked" in other ? (other as FakeHost) : fakeHost(answers);
  const box = document.createElement("div");
  document.body.append(box);
  const close = mount(box, other ?? host);
  const root = box.firstElementChild as HTMLElement;
  const rest = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  let stirred = 0; // what was drawn and asked so far
  const watch = new MutationObserver(() => stirred++);
  watch.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  /** Until nothing is drawn or asked any more, however slow the machine is. */
  const settled = async () => {
    for (let before = -1, turns = 0; before !== stirred + host.asked.length && turns < 50; turns++) {
      before = stirred + host.asked.length;
      await new Promise(requestAnimationFrame); // effects run after a frame, and there may be many to come
      await rest(50);
    }
  };
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
      await settled();
      return event;
    },
    async click(element, more = {}) {
      element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...more }));
      await settled();
    },
    async type(field, text) {
      field.value = text;
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
      await settled();
    },
    asked: (kind) => host.asked.filter((request) => request.kind === kind),
    rest: (ms) => (ms === undefined ? settled() : rest(ms)),
    close() {
      watch.disconnect();
      close();
      box.remove();
    },
  };
  await settled();
  return lab;
}
