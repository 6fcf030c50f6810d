import { useStore } from "../store";
import { CardView } from "./card";

/** The refusal of what was asked for at this place, if there is one. */
export function Refusal({ at }: { at: string }) {
  const { refused, act } = useStore();
  if (refused.value?.where !== at) return null;
  return (
    <CardView
      card={refused.value.card}
      onMove={(move) => void act({ kind: "apply", act: move.act }, at)}
      onClose={() => (refused.value = null)}
    />
  );
}
