// A verdict: never by colour alone.
import type { Action } from "../payload";

export type Sign = Action["sign"];

const WORD: Record<Sign, string> = { "+": "legal", x: "not legal", "?": "unknown", "=": "no effect" };
const TONE: Record<Sign, string> = { "+": "legal", x: "illegal", "?": "unknown", "=": "noeffect" };
const GLYPH: Record<Sign, string> = { "+": "+", x: "×", "?": "?", "=": "=" };

export const signWord = (sign: Sign): string => WORD[sign] ?? "unknown";
export const signTone = (sign: Sign): string => TONE[sign] ?? "unknown";

/** The glyph; with `word`, the word too. */
export function SignMark({ sign, word }: { sign: Sign; word?: boolean | string }) {
  const text = typeof word === "string" ? word : signWord(sign);
  return (
    <span class={`tvl-sign tvl-tone-${signTone(sign)}`}>
      <b aria-hidden={word ? "true" : undefined} role={word ? undefined : "img"} aria-label={word ? undefined : text}>
        {GLYPH[sign] ?? "?"}
      </b>
      {word && <span>{text}</span>}
    </span>
  );
}
