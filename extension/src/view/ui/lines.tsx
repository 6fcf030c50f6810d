// Lines of a program with the colours that the kernel gave their words.
import type { DiffLine, Line } from "../payload";
import { pieces } from "./pieces";

/** The text of a line, without its indent; what is searched in it is marked. */
export function LineText({ line, search = "" }: { line: Line; search?: string }) {
  return (
    <>
      {pieces(line, search).map(({ text, kind, hit }) => {
        const known = /^(word|mark|number|comment|string)$/.test(kind);
        return known || hit ? <span class={`${known ? `tvl-k-${kind}` : ""}${hit ? " tvl-hit" : ""}`}>{text}</span> : text;
      })}
    </>
  );
}

const SIGNS: Record<DiffLine["sign"], string> = { " ": "kept", "+": "added", "-": "removed", "~": "changed" };

/** A short diff; long ones belong in the code pane. */
export function DiffLines({ lines, label }: { lines: DiffLine[]; label: string }) {
  return (
    <ol class="tvl-diff" aria-label={label}>
      {lines.map((d, i) => (
        <li key={i} class={`tvl-diff-${SIGNS[d.sign] ?? "kept"}`}>
          <b role="img" aria-label={SIGNS[d.sign]}>
            {d.sign}
          </b>
          <code style={{ paddingInlineStart: `${d.line.d * 2}ch` }}>
            <LineText line={d.line} />
          </code>
        </li>
      ))}
    </ol>
  );
}
