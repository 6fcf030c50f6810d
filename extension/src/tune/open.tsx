// The module of the Tune drawer, loaded when it is first opened (see view/drawers/tune.tsx). It has a Preact of its own.
import "./tune.css";
import { render } from "preact";
import { StoreContext, type Store } from "../view/store";
import { Boundary } from "../view/ui/boundary";
import { SessionContext } from "./context";
import { makeSession } from "./session";
import { Tune } from "./tune";

/** Draws tuning into the element; returns how to stop. */
export function open(element: HTMLElement, store: Store, css: string): () => void {
  const { ownerDocument: page } = element;
  const style = page.createElement("style");
  style.textContent = css;
  const root = page.createElement("div");
  root.className = "tvn";
  element.append(style, root);
  const session = makeSession(store);
  render(
    <StoreContext.Provider value={store}>
      <SessionContext.Provider value={session}>
        <Boundary name="tuning">
          <Tune root={root} />
        </Boundary>
      </SessionContext.Provider>
    </StoreContext.Provider>,
    root,
  );
  return () => {
    render(null, root);
    session.stop();
    root.remove();
    style.remove();
  };
}
