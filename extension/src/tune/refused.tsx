import { CardView } from "../view/ui/card";
import { useSession } from "./context";
import type { Place } from "./session";

/** Why what was asked for at this place was refused. */
export function Refused({ at }: { at: Place }) {
  const { refused } = useSession();
  const mine = refused.value?.where === at ? refused.value : null;
  return mine && <CardView card={mine.card} onClose={() => (refused.value = null)} />;
}
