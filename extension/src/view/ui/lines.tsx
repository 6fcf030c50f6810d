// Lines of a program with the colours that the kernel gave their words.
import type { DiffLine, Line } from "../payload";

const WORDS = new Set(["word", "mark", "number", "comment", "string"]);

/** The text of a line, without its indent. */
export function LineText({ line }: { line: Line }) {
  if (!line.k?.length) return <>{line.t}</>;
  const parts = [];
  let at = 0;
  for (const [start, end, kind] of line.k) {
    if (start < at || end <= start) continue;
    if (start > at) parts.push(line.t.slice(at, start));
    parts.push(<span class={WORDS.has(kind) ? `tvl-k-${kind}` : ""}>{line.t.slice(start, end)}</span>);
    at = end;
  }
  parts.push(line.t.slice(at));
  return <>{parts}</>;
}

const SIGNS: Record<DiffLine["sign"], string> = { " ": "kept", "+": "added", "-": "removed", "~": "changed" };

/** A short diff; long ones belong in the code pane. */
export function DiffLines({ lines, label }: { lines: DiffLine[]; label: string }) {
  return (
    <ol class="tvl-diff" aria-label={label}>
      {lines.map((d, i) => (
        <li key={i} class={`tvl-diff-${SIGNS[d.sign] ?? "kept"}`}>
          <b aria-label={SIGNS[d.sign]}>{d.sign}</b>
          <code style={{ paddingInlineStart: `${d.line.d * 2}ch` }}>
            <LineText line={d.line} />
          </code>
        </li>
      ))}
    </ol>
  );
}
