// Writes dev/lab.json and dev/kernel.js (which tunes in play) from the tests' fixtures: `node dev/make.mjs`.
import { build } from "esbuild";
import { writeFileSync } from "node:fs";

const { outputFiles } = await build({ entryPoints: ["src/view/testing/fixture.ts"], bundle: true, format: "esm", write: false });
const made = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
writeFileSync("dev/lab.json", JSON.stringify({ ...made.document(), drawer: made.DRAWER, typed: made.TYPED_WRONG }));
await build({ entryPoints: ["src/tune/testing/kernel.ts"], bundle: true, format: "esm", outfile: "dev/kernel.js" });
