// Runs each kind of writer and dataset of reprise/agents for 10^6 steps with a table of 1,000 items: `npm run soak:writers [-- --steps N] [WORDS]`. Every kind
// runs in its own process, which prints its memory after each tenth. The run fails if the memory grows.
//
// kinds/NAME.mjs exports `kinds`: [{ name, make }]. `make()` returns a function (from, to), which takes steps `from` to before `to`, and may be async.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  options: { steps: { type: "string", default: "1000000" }, kind: { type: "string" } },
  allowPositionals: true,
});
const steps = Number(values.steps);
const TENTHS = 10;
/** The number of tenths during which code is compiled and memory grows to its final size. */
const WARM = 3;
/** The allowed difference between the other tenths in bytes: less than one byte per step. */
const HEAP = 500e3;
const ARRAYS = 200e3;

const folder = new URL("kinds/", import.meta.url);
const files = readdirSync(folder)
  .filter((file) => file.endsWith(".mjs"))
  .sort();
const kinds = (await Promise.all(files.map((file) => import(new URL(file, folder))))).flatMap((file) => file.kinds);

if (values.kind === undefined) {
  let failed = 0;
  const named = kinds.filter(({ name }) => name.includes(positionals.join(" ")));
  for (const { name } of named) {
    console.log(name);
    const args = ["--expose-gc", fileURLToPath(import.meta.url), "--steps", String(steps), "--kind", name];
    if (spawnSync(process.execPath, args, { stdio: "inherit" }).status !== 0) failed++;
  }
  console.log(`${named.length - failed} passed, ${failed} failed`);
  process.exit(failed === 0 && named.length > 0 ? 0 : 1);
}

const go = await kinds.find(({ name }) => name === values.kind).make();
const tenths = [];
for (let tenth = 0; tenth < TENTHS; tenth++) {
  await go(Math.floor((tenth * steps) / TENTHS), Math.floor(((tenth + 1) * steps) / TENTHS));
  const found = memory();
  tenths.push(found);
  console.log(`  ${tenth + 1}/${TENTHS}: heap ${mb(found.heap)}, arrays ${mb(found.arrays)}, process ${mb(found.process)}`);
}
const [before, after] = [tenths.slice(WARM - 1, WARM + 2), tenths.slice(-3)];
const least = (some, part) => Math.min(...some.map((one) => one[part]));
const grown = { heap: least(after, "heap") - least(before, "heap"), arrays: least(after, "arrays") - least(before, "arrays") };
const isFlat = grown.heap < HEAP && grown.arrays < ARRAYS;
console.log(`  ${isFlat ? "flat" : "GROWS"}: heap by ${(grown.heap / 1e3).toFixed(0)} KB, arrays by ${(grown.arrays / 1e3).toFixed(0)} KB`);
process.exit(isFlat ? 0 : 1);

/** Returns the memory in use after a full collection. */
function memory() {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed, arrays: external, process: rss };
}

function mb(bytes) {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}
