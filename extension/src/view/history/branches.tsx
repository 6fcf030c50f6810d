import { useState } from "preact/hooks";
import { useEscape } from "../keys";
import { useStore } from "../store";
import { plural } from "../ui/format";
import { Menu } from "../ui/menu";

/** The branches: go to one, begin one here, name the current one. */
export function Branches() {
  const { history, act, acting } = useStore();
  const [naming, setNaming] = useState(false);
  const { branches } = history.value;
  const current = branches.find((b) => b.current);
  useEscape(naming, () => setNaming(false));
  if (!acting.value) return branches.length > 1 && current ? <span class="tvl-fact">{current.name}</span> : null;
  if (naming && current)
    return (
      <input
        type="text"
        class="tvl-branch-name"
        aria-label="Name of this branch"
        defaultValue={current.name}
        ref={(element) => element?.focus()}
        onChange={(e) => void act({ kind: "rename", step: current.id, text: e.currentTarget.value }, "history")}
        onBlur={() => setNaming(false)}
        onKeyDown={(e) => e.key === "Enter" && e.currentTarget.blur()}
      />
    );
  const pick = (id: string) => {
    if (id === "+new") return void act({ kind: "branch" }, "history");
    if (id === "+name") return setNaming(true);
    void act({ kind: "switch", what: id }, "history");
  };
  return (
    <Menu
      name="Branches"
      icon="branch"
      label={current?.name ?? "Branches"}
      up
      end
      items={[
        ...branches.map((b) => ({ id: b.id, label: b.name, note: plural(b.steps, "step"), checked: b.current })),
        { id: "+new", label: "New branch from here" },
        { id: "+name", label: "Name this branch" },
      ]}
      onPick={pick}
    />
  );
}
