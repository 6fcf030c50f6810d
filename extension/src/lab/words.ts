// Small functions of text, with nothing of JupyterLab in them.

/** Where the kernel may know more than Python does: in a string, after `factor=`, or after `s[C].` */
export const WORTH_ASKING = /(["'][\w.]*|factor=\d*|\]\.\w*)$/;

/** What of the word before the cursor is there already: in a string a path, elsewhere a name. */
export function begunWord(before: string): string {
  const path = /["']([\w.]*)$/.exec(before);
  return path ? path[1]! : /\w*$/.exec(before)![0];
}

/** Whether a cell shows what is being typed: its first line is `%%schedule` with `--live`. */
export function isLive(text: string): boolean {
  const line = text.trimStart().split("\n", 1)[0]!.trim();
  const [magic, ...words] = line.split(/\s+/);
  return magic === "%%schedule" && words.includes("--live");
}

/** 0.0061 -> "6.1 ms" */
export function duration(seconds: number): string {
  const units: [number, string][] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]];
  const [size, name] = units.find(([size]) => seconds >= size) ?? [1e-9, "ns"];
  return `${Number((seconds / size).toPrecision(3))} ${name}`;
}

/** "Schedule Lab.ipynb", or with the first number that is free. */
export function freeName(taken: ReadonlySet<string>): string {
  const name = (n: number) => `Schedule Lab${n > 1 ? ` ${n}` : ""}.ipynb`;
  let n = 1;
  while (taken.has(name(n))) n++;
  return name(n);
}

/** A cell that opens a lab; target and machine only where they are not the usual ones. */
export function exampleCell(target: string, machine: string): string {
  const given = { target, machine };
  const args = Object.entries(given).flatMap(([name, value]) => (value ? [`${name}=${JSON.stringify(value)}`] : []));
  return `from tvmlab import Lab\n\nlab = Lab(${args.join(", ")})\nlab`;
}
