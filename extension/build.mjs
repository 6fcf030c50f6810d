// The widget as one ES module and one style sheet, where the Python package looks for them.
import { build } from "esbuild";
import { statSync } from "node:fs";

const out = "../tvmlab/view/static";
const LIMIT = 120_000; // bytes, minified: stored once per widget in a notebook's state

await build({
  entryPoints: { lab: "src/view/widget.tsx" },
  outdir: out,
  bundle: true,
  format: "esm",
  minify: true,
  charset: "utf8",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});
const size = statSync(`${out}/lab.js`).size;
if (size > LIMIT) {
  console.error(`lab.js is ${size} bytes; at most ${LIMIT} are allowed`);
  process.exit(1);
}
