// Who measures on other machines: how many trials each has measured; who takes no part, and why.
import { plural } from "../view/ui/format";
import type { Worker } from "./payload";

const TONE: Partial<Record<Worker["state"], string>> = { out: "tvl-tone-noeffect", gone: "tvl-tone-illegal" };
const WORD: Partial<Record<Worker["state"], string>> = { asked: "being tried …", out: "left out" };

export function Workers({ of }: { of: Worker[] }) {
  if (!of.length) return null;
  const part = of.filter((w) => w.state === "takes part").length;
  return (
    <>
      <h3>
        Workers <small class="tvl-soft-text">{part === of.length ? part : `${part} of ${of.length} take part`}</small>
      </h3>
      <ul class="tvn-counts" aria-label="Workers">
        {of.map(({ name, state, trials, note }, i) => (
          <li key={i} data-worker={name}>
            <b>{name}</b> {(state === "takes part" || trials > 0) && plural(trials, "trial")}{" "}
            <small class={TONE[state] ?? "tvl-soft-text"}>{state === "gone" ? note : [WORD[state], note].filter(Boolean).join(": ")}</small>
          </li>
        ))}
      </ul>
    </>
  );
}
