// Builds `view` (the widget: one ES module and one style sheet) or `lab` (the JupyterLab extension).
// `python tvmlab_backend.py` calls this where a product is missing or older than its sources.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { minify } from "terser";

// The widget's modules, and the bytes that each may have, minified. lab.js is stored once per widget in a notebook's
// state; tune.js is asked for when the drawer is first opened.
const MODULES = { lab: { from: "src/view/widget.tsx", limit: 120_000 }, tune: { from: "src/tune/open.tsx", limit: 60_000 } };
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
const COMPRESS = { passes: 5, pure_getters: true, unsafe_arrows: true, hoist_funs: true };
const AGAIN = { module: true, ecma: 2020, compress: COMPRESS, format: { comments: false } };

// Names that only these modules use: no element, request or reply has them, so they need not be whole. `SHORT` keeps
// them the same in both.
const OWN = /^(on(Apply|Close|Copy|Edit|Enter|Fold|Hover|Look|Move|Pick|Set|Show|Start|Why)|acting|refused|copyCode|copyProgram)$/;
const SHORT = {};

async function view() {
  const out = "../tvmlab/view/static";
  rmSync(`${out}/made-from.txt`, { force: true });
  for (const [name, { from, limit }] of Object.entries(MODULES)) {
    const names = { mangleProps: OWN, mangleCache: SHORT };
    const { mangleCache } = await build({ ...COMMON, ...names, entryPoints: { [name]: from }, outdir: out, minify: true });
    Object.assign(SHORT, mangleCache);
    const made = await minify(readFileSync(`${out}/${name}.js`, "utf8"), AGAIN);
    writeFileSync(`${out}/${name}.js`, made.code);
    const size = Buffer.byteLength(made.code);
    if (size > limit) throw new Error(`${name}.js is ${size} bytes; at most ${limit} are allowed`);
  }
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
