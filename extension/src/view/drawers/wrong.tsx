import type { Wrong } from "../payload";
import { plural } from "../ui/format";

/** The first element that differs, and the iterations that wrote it. */
export function WrongElement({ wrong, worst }: { wrong: Wrong; worst: string }) {
  return (
    <div class="tvl-card">
      <p>
        <b>
          {wrong.tensor}[{wrong.index.join(", ")}] is {wrong.got}; {wrong.expected} was expected.
        </b>{" "}
        {plural(wrong.count, "element differs", "elements differ")}. {worst}
      </p>
      {wrong.writers.length > 0 && (
        <>
          <p>It was written by:</p>
          <ul class="tvl-writers">
            {wrong.writers.slice(0, 8).map((w) => (
              <li key={w}>
                <code>{w}</code>
              </li>
            ))}
            {wrong.writers.length > 8 && <li>and {wrong.writers.length - 8} more</li>}
          </ul>
        </>
      )}
      {wrong.note && <p class="tvl-soft-text">{wrong.note}</p>}
    </div>
  );
}
