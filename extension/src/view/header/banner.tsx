import { useState } from "preact/hooks";
import { useStore } from "../store";
import { CardView } from "../ui/card";

/** What stands above the panes until it is over: no kernel, an older document, a refusal of the header's own buttons. */
export function Banner() {
  const { lost, head, refused, message, act } = useStore();
  const { given, busy } = head.value;
  const [read, setRead] = useState(0);
  const at = refused.value?.where;
  const own = at === "header" || at === "" ? refused.value!.card : null;
  // One that was asked for in a pane is shown there.
  const told = refused.value || read === message.value.n ? null : message.value.card;
  const card = own ?? told;
  const close = () => (own ? (refused.value = null) : setRead(message.value.n));
  return (
    <>
      {lost.value && (
        <p class="tvl-banner tvl-banner-bad">
          <b>Disconnected.</b> This is the last state, and it can be read and copied. Re-run the cell to go on.
        </p>
      )}
      {given && <p class="tvl-banner">{given}</p>}
      {busy && <p class="tvl-banner">{busy}</p>}
      {card && (
        <div class="tvl-banner-card" role="note">
          <CardView
            card={card}
            onMove={(move) => void act({ kind: "apply", act: move.act }, "header")}
            onClose={close}
          />
        </div>
      )}
    </>
  );
}
