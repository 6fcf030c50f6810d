import { useStore } from "../store";
import { Button } from "../ui/button";
import { SignMark } from "../ui/sign";
import { Drawer } from "./drawer";

/** What was checked, what is open, and steps that no longer apply. */
export function LegalityDrawer() {
  const { head, history, shown, jump } = useStore();
  const { sign, text, items } = head.value.badge;
  const { steps } = history.value;
  const parked = steps.map((step, i) => ({ step, at: i + 1 })).filter(({ step }) => step.status === "parked");
  const notes = shown.value.notes.filter((note) => !items.includes(note));
  return (
    <Drawer title="Is it legal?">
      <p class="tvl-lead">
        <SignMark sign={sign} word={text} />
      </p>
      <ul class="tvl-list">
        {[...items, ...notes].map((item) => (
          <li key={item}>{item}</li>
        ))}
        {items.length + notes.length === 0 && <li>Every step was checked before it was taken, and nothing is open.</li>}
      </ul>
      {parked.length > 0 && (
        <>
          <h3>Steps that do not apply now</h3>
          <ul class="tvl-list">
            {parked.map(({ step, at }) => (
              <li key={step.id}>
                <b>
                  {at} {step.label}
                </b>
                <p class="tvl-soft-text">{step.reason}</p>
                <p class="tvl-row">
                  <Button label="Go there" onClick={() => void jump(at)} />
                </p>
              </li>
            ))}
          </ul>
        </>
      )}
    </Drawer>
  );
}
