import { useRef } from "preact/hooks";
import { ANY, type Listed } from "../keys";
import { useStore } from "../store";
import { Button } from "../ui/button";
import { remember } from "../ui/remember";
import { Drawer } from "./drawer";

const ALWAYS: Listed[] = [
  { pane: ANY, chord: "Tab", does: "next part: each is one stop, arrows go on inside" },
  { pane: ANY, chord: "Escape", does: "close the innermost thing; again: leave the lab" },
  { pane: ANY, chord: "Shift+Enter", does: "runs the notebook's cell, as everywhere" },
];

/** The keys that work now, from the very table that dispatches them. */
export function KeysDrawer() {
  const { keys, letters } = useStore();
  const listed = useRef(keys.list()).current;
  const groups = grouped([...ALWAYS, ...listed]);
  const flip = () => {
    letters.value = !letters.value;
    remember("letters", letters.value ? "on" : "off");
  };
  return (
    <Drawer title="Keys">
      <p class="tvl-lead tvl-soft-text">
        Keys act on the lab while “keys: lab” stands below.
      </p>
      <p class="tvl-row tvl-inset">
        <Button label={letters.value ? "Turn single letters off" : "Turn single letters on"} onClick={flip} />
      </p>
      {groups.map(([pane, list]) => (
        <section key={pane} class="tvl-keys">
          <h3>{pane === ANY ? "everywhere" : pane}</h3>
          <dl>
            {list.map(({ chord, does }) => (
              <div key={chord}>
                <dt>
                  <kbd>{chordText(chord)}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Drawer>
  );
}

function grouped(listed: Listed[]): [string, Listed[]][] {
  const groups = new Map<string, Listed[]>();
  for (const key of listed) groups.set(key.pane, [...(groups.get(key.pane) ?? []), key]);
  return [...groups];
}

/** "Mod+Shift+z" is said "Ctrl+Shift+Z"; "Alt+ArrowUp" is said "Alt+Up". */
export function chordText(chord: string, mac = /Mac|iP/.test(navigator.platform)): string {
  const text = chord.replace("Mod", mac ? "⌘" : "Ctrl").replace("Arrow", "");
  return text.replace(/\+[a-z]$/, (letter) => letter.toUpperCase());
}
