// What a step would change, in numbers, before it is taken.
import type { Delta } from "../payload";

export function Deltas({ deltas }: { deltas: Delta[] }) {
  return (
    <ul class="tvl-deltas">
      {deltas.map((delta) => (
        <li key={delta.name} class={delta.better === null ? "" : delta.better ? "tvl-tone-legal" : "tvl-tone-illegal"}>
          <span>{delta.name}</span> <b>{delta.text.replace("->", "→")}</b>
          {delta.better !== null && <span class="tvl-hidden">{delta.better ? " (better)" : " (worse)"}</span>}
        </li>
      ))}
    </ul>
  );
}
