// Draws a lab into an element; returns how to take it away again.
import { render } from "preact";
import { App } from "./app";
import { keepFocus } from "./focus";
import type { Host } from "./host";
import { guard } from "./keys";
import { makeStore, StoreContext } from "./store";
import { followTheme } from "./theme";

export function mount(element: HTMLElement, host: Host): () => void {
  const { store, stop } = makeStore(host);
  const root = element.ownerDocument.createElement("div");
  root.className = "tvl";
  root.lang = "en";
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Schedule Lab");
  element.append(root);
  const heard = (event: KeyboardEvent) => store.keys.handle(event, root);
  root.addEventListener("keydown", heard);
  const stops = [stop, followTheme(root), keepFocus(root), guard(root, store.keys), () => root.removeEventListener("keydown", heard)];
  render(
    <StoreContext.Provider value={store}>
      <App root={root} />
    </StoreContext.Provider>,
    root,
  );
  return () => {
    render(null, root);
    root.remove();
    stops.forEach((s) => s());
    host.dispose();
  };
}
