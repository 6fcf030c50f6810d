// What a new notebook for the lab holds.
import type { JSONObject } from "@lumino/coreutils";

export const EXAMPLE = "from tvmlab import Lab\n\nlab = Lab()\nlab";

const TEXT = `# Schedule Lab

Choose an operator, or type an expression of your own. Then point at a loop: the list beside it says what may be done to
it, and what that would change. Every act is a line of code: *Copy code* takes them along.`;

export function template(kernel: string): JSONObject {
  return {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: { kernelspec: { name: kernel, display_name: kernel, language: "python" } },
    cells: [
      { id: "lab-text", cell_type: "markdown", metadata: {}, source: TEXT },
      { id: "lab-code", cell_type: "code", metadata: {}, source: EXAMPLE, execution_count: null, outputs: [] },
    ],
  };
}

/** "Schedule Lab.ipynb", or with the first number that is free. */
export function freeName(taken: ReadonlySet<string>): string {
  const name = (n: number) => `Schedule Lab${n > 1 ? ` ${n}` : ""}.ipynb`;
  let n = 1;
  while (taken.has(name(n))) n++;
  return name(n);
}
