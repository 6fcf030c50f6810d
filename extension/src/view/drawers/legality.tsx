import { useStore } from "../store";
import { SignMark } from "../ui/sign";
import { Drawer } from "./drawer";

/** What was checked, and what is open. */
export function LegalityDrawer() {
  const { head, shown } = useStore();
  const { sign, text, items } = head.value.badge;
  const all = [...new Set([...items, ...shown.value.notes])];
  return (
    <Drawer title="Is it legal?">
      <p class="tvl-lead">
        <SignMark sign={sign} word={text} />
      </p>
      <ul class="tvl-list">
        {all.map((item) => (
          <li key={item}>{item}</li>
        ))}
        {!all.length && <li>Every step was checked, and nothing is open.</li>}
      </ul>
    </Drawer>
  );
}
