import type { ComponentChildren } from "preact";

export type Tone = "" | "legal" | "illegal" | "unknown" | "noeffect" | "accent";

export function Chip({ children, tone = "", title }: { children: ComponentChildren; tone?: Tone; title?: string }) {
  return (
    <span class={`tvl-chip ${tone ? `tvl-tone-${tone}` : ""}`} title={title}>
      {children}
    </span>
  );
}
