// What a new notebook for the lab holds.
import { type JSONObject, UUID } from "@lumino/coreutils";

const TEXT = `# Schedule Lab

Choose an operator, or type an expression of your own. Then point at a loop: the list beside it says what may be done to
it, and what that would change. Every act is a line of code: *Copy the whole program*, under *More*, takes them along.`;

export function template(kernel: string, code: string): JSONObject {
  return {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: { kernelspec: { name: kernel, display_name: kernel, language: "python" } },
    cells: [
      { id: "lab-text", cell_type: "markdown", metadata: {}, source: TEXT },
      { id: `lab-${UUID.uuid4()}`, cell_type: "code", metadata: {}, source: code, execution_count: null, outputs: [] },
    ],
  };
}
