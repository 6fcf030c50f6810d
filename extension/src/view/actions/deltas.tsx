// What a step would change, in numbers, before it is taken.
import type { Delta } from "../payload";

/** What changes; what stays the same is only named. */
export function Deltas({ deltas }: { deltas: Delta[] }) {
  const same = deltas.filter((delta) => delta.text === "=");
  return (
    <ul class="tvl-deltas">
      {deltas.map((delta) =>
        delta.text === "=" ? null : (
          <li key={delta.name} class={delta.better === null ? "" : delta.better ? "tvl-tone-legal" : "tvl-tone-illegal"}>
            <span>{delta.name}</span> <b>{delta.text.replace("->", "→")}</b>
            {delta.better !== null && <span class="tvl-hidden">{delta.better ? " (better)" : " (worse)"}</span>}
          </li>
        ),
      )}
      {same.length > 0 && (
        <li>
          = <span>{same.map((delta) => delta.name).join(", ")}</span>
        </li>
      )}
      {!deltas.length && <li>The numbers can be told once nothing is open any more.</li>}
    </ul>
  );
}
