// Draws a lab into an element; returns how to take it away again.
import { render } from "preact";
import { App } from "./app";
import type { Host } from "./host";
import { makeStore, StoreContext } from "./store";

export function mount(element: HTMLElement, host: Host): () => void {
  const { store, stop } = makeStore(host);
  const root = document.createElement("div");
  root.className = "tvl";
  element.append(root);
  render(
    <StoreContext.Provider value={store}>
      <App root={root} />
    </StoreContext.Provider>,
    root,
  );
  return () => {
    render(null, root);
    root.remove();
    stop();
    host.dispose();
  };
}
