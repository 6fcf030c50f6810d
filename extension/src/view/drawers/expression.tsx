// An expression typed in the lab: read by the kernel while it is typed, errors underlined where they are.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Typed } from "../payload";
import { useStore } from "../store";
import { Refusal } from "../ui/refusal";

const REST = 250; // ms without a key before the text is sent

export function Expression({ example }: { example: string }) {
  const { latest, act, drawer } = useStore();
  const [text, setText] = useState(example);
  const [typed, setTyped] = useState<{ of: string; reads: Typed } | null>(null);
  useEffect(() => {
    if (!text.trim()) return setTyped(null);
    const timer = setTimeout(async () => {
      const reply = await latest({ kind: "typed", text });
      if (reply?.data) setTyped({ of: text, reads: reply.data as Typed });
    }, REST);
    return () => clearTimeout(timer);
  }, [text]);
  const reads = typed?.of === text ? typed.reads : null; // of what stands there now
  const off = !text.trim() || reads?.ok === false;
  const start = async () => {
    if (!off && (await act({ kind: "start", what: "expression", text }, "expression"))) drawer.value = "";
  };
  return (
    <form
      class="tvl-expression"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <p class="tvl-inset tvl-soft-text">The last tensor is the result.</p>
      <Editor text={text} reads={reads} onInput={setText} onStart={() => void start()} />
      <div class="tvl-reads" aria-live="polite">
        {typed && !typed.reads.ok && typed.of === text && (
          <p class="tvl-tone-illegal">
            {typed.reads.line > 0 && <b>line {typed.reads.line}: </b>}
            {typed.reads.error}
          </p>
        )}
        {typed?.reads.ok && typed.reads.tensors.map((t) => <code key={t}>{t}</code>)}
      </div>
      <Refusal at="expression" />
      <p class="tvl-row tvl-inset">
        <button type="submit" class="tvl-button tvl-main" aria-disabled={off}>
          Start
        </button>
      </p>
    </form>
  );
}

interface EditorProps {
  text: string;
  reads: Typed | null;
  onInput: (text: string) => void;
  onStart: () => void;
}

function Editor({ text, reads, onInput, onStart }: EditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const [before, wrong, after] = marked(text, reads);
  return (
    <div class="tvl-editor">
      <pre aria-hidden="true">
        {before}
        {wrong && <mark>{wrong}</mark>}
        {after}
        {"\n "}
      </pre>
      <textarea
        ref={area}
        aria-label="Expression"
        aria-invalid={!!wrong}
        data-first
        spellcheck={false}
        autocomplete="off"
        wrap="off"
        value={text}
        onInput={(e) => onInput(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
          e.preventDefault();
          onStart();
        }}
      />
    </div>
  );
}

/** The text before the part that is wrong, that part, and the rest. */
export function marked(text: string, reads: Typed | null): [string, string, string] {
  if (!reads || reads.ok || reads.line < 1) return [text, "", ""];
  const lines = text.split("\n");
  const line = lines[reads.line - 1];
  if (line === undefined) return [text, "", ""];
  const offset = lines.slice(0, reads.line - 1).reduce((sum, l) => sum + l.length + 1, 0);
  const start = Math.max(0, Math.min(reads.start, line.length));
  const end = Math.max(start, Math.min(reads.end > start ? reads.end : line.length, line.length));
  return [text.slice(0, offset + start), text.slice(offset + start, offset + end) || " ", text.slice(offset + end)];
}
