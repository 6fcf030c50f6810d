// Builds `view` (the widget: one ES module and one style sheet) or `lab` (the JupyterLab extension).
// `python tvmlab_backend.py` calls this where a product is missing or older than its sources.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { minify } from "terser";

const LIMIT = 120_000; // bytes of lab.js, minified: stored once per widget in a notebook's state
const COMMON = {
  bundle: true,
  format: "esm",
  charset: "utf8",
  target: "es2022",
  // $h("p", null, "text") is shorter than jsx("p", { children: "text" }): 4 kB of the module.
  tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "$h", jsxFragmentFactory: "Fragment" } },
  inject: ["src/view/jsx.ts"],
  legalComments: "none",
  logLevel: "warning",
};

// A second look at what esbuild made smaller: 3 kB of the module. Arrows: nothing here asks a function for its prototype.
const COMPRESS = { passes: 3, pure_getters: true, unsafe_arrows: true };
const AGAIN = { module: true, ecma: 2020, compress: COMPRESS, format: { comments: false } };

async function view() {
  const out = "../tvmlab/view/static";
  rmSync(`${out}/made-from.txt`, { force: true });
  await build({ ...COMMON, entryPoints: { lab: "src/view/widget.tsx" }, outdir: out, minify: true });
  const made = await minify(readFileSync(`${out}/lab.js`, "utf8"), AGAIN);
  writeFileSync(`${out}/lab.js`, made.code);
  const size = Buffer.byteLength(made.code);
  if (size > LIMIT) throw new Error(`lab.js is ${size} bytes; at most ${LIMIT} are allowed`);
}

// One module with what is ours; JupyterLab's own packages stay outside and are shared by its module federation.
async function lab() {
  rmSync("../tvmlab/labextension", { force: true, recursive: true });
  await build({
    ...COMMON,
    entryPoints: { index: "src/lab/index.ts" },
    outdir: "lib",
    external: ["@jupyterlab/*", "@lumino/*"],
  });
  const builder = "node_modules/@jupyter/builder/lib/build-labextension.js";
  const core = "node_modules/@jupyterlab/core-meta/core.package.json";
  const done = spawnSync(process.execPath, [builder, "--core-package-file", core, "."], { encoding: "utf8" });
  if (done.status) throw new Error(`the JupyterLab extension was not built:\n${done.stdout}\n${done.stderr}`);
}

const products = { view, lab };
try {
  for (const name of process.argv.slice(2)) await products[name]();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
