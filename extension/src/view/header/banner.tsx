import { useState } from "preact/hooks";
import { useStore } from "../store";
import { CardView } from "../ui/card";
import { Refusal } from "../ui/refusal";

/** What stands above the panes until it is over: no kernel, an older document, a refusal of the header's own buttons. */
export function Banner() {
  const { lost, head, refused, message, act } = useStore();
  const { given, busy } = head.value;
  const [read, setRead] = useState(0);
  const { card, n } = message.value;
  return (
    <>
      {lost.value && (
        <p class="tvl-banner tvl-banner-bad">
          <b>Disconnected.</b> The last state can be read and copied. Re-run the cell to go on. A new kernel has no
          steps: once the notebook is saved, <code>tvmlab.Lab.load("this notebook.ipynb")</code> has them.
        </p>
      )}
      {given && <p class="tvl-banner">{given}</p>}
      {busy && <p class="tvl-banner">{busy}</p>}
      <div class="tvl-banner-card">
        <Refusal at="header" />
        <Refusal at="" />
        {/* One that was asked for in a pane is shown there. */}
        {card && !refused.value && read !== n && (
          <CardView card={card} onMove={(move) => void act({ kind: "apply", act: move.act }, "header")} onClose={() => setRead(n)} />
        )}
      </div>
    </>
  );
}
