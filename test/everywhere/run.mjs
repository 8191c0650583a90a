// Tests the packed tarball in every runtime, in an empty project of each kind. `npm run everywhere [-- WORD …]`; --write updates the table in
// docs/reference/runtimes.md.
import { deepEqual } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../build/step.mjs";
import { Browsers } from "./browsers.mjs";
import { EMBED } from "./embed.mjs";
import { compared, written } from "./table.mjs";
import { Workshop } from "./workshop.mjs";

const KINDS = ["node", "workerd", "pages", "bundlers", "next", "engines", "sockets", "python", "c"];
/** The number of kinds that run at the same time. The longest kinds start first. */
const LANES = 2;
const ORDER = ["next", "bundlers", "node", "pages", "engines", "workerd", "sockets", "python", "c"];
const PAGE = join(root, "docs/reference/runtimes.md");

const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const isAsked = ({ where, version }) => words.every((word) => `${where} ${version}`.toLowerCase().includes(word.toLowerCase()));
const workshop = await new Workshop().ready();
const browsers = new Browsers();
const kinds = {};
for (const kind of KINDS) kinds[kind] = await (await import(`./kinds/${kind}.mjs`)).rows(workshop, browsers);
const rows = KINDS.flatMap((kind) => kinds[kind]);

/** The files with the expected output, without and with the optional packages. With --write, this version of Node generates them. */
const LINES = ["lines.txt", "lines-with-packages.txt"].map((name) => join(import.meta.dirname, name));
if (process.argv.includes("--write")) for (const [i, file] of LINES.entries()) writeFileSync(file, `${(await ofNode(i === 1)).join("\n")}\n`);
const [without, withPackages] = LINES.map((file) => readFileSync(file, "utf8").trim().split("\n"));
for (const lines of [without, withPackages]) checkDigests(lines);

/** Matches the lines that a short suite omits. */
const LONG = /^(digest|snapshots|agents) | cases$/;

/** Returns the expected lines of a host. `instead` replaces lines by their prefix, for hosts that lack a feature. */
function expected({ peers, files, short, instead = {} }) {
  const lines = (peers ? withPackages : without).filter((line) => (files || !line.startsWith("file: ")) && !(short && LONG.test(line)));
  const other = (line) => Object.keys(instead).find((begin) => line.startsWith(`${begin} `));
  return lines.map((line) => (other(line) === undefined ? line : `${other(line)} ${instead[other(line)]}`));
}

async function ofNode(peers) {
  const row = rows.find((row) => row.where.startsWith("Node.js") && row.suite !== undefined && Boolean(row.peers) === peers);
  return row.suite(false);
}

function checkDigests(lines) {
  const kept = readFileSync(join(root, "test/runtime/digest.txt"), "utf8").trim().split("\n");
  // The package does not contain the scalar build.
  const digests = kept.filter((line) => !line.includes("scalar ")).map((line) => line.replace("snapshots simd", "snapshots").replace("simd", "digest"));
  const wanted = [...digests, EMBED.replace("digest", "embed")];
  deepEqual(lines.filter((line) => /^\w+ ([0-9a-f]{8}|[0-9a-f]{64})$/.test(line)).sort(), wanted.sort());
}

let passed = 0;
let failed = 0;
const waiting = [...ORDER];
await Promise.all(Array.from({ length: LANES }, lane));
await browsers.close();

/** Runs kinds one after the other, with their rows in order. */
async function lane() {
  for (let kind = waiting.shift(); kind !== undefined; kind = waiting.shift()) for (const row of kinds[kind].filter(isAsked)) await check(row);
}

async function check(row) {
  const start = performance.now();
  const what = `${row.where} ${row.version}`;
  try {
    if (row.suite === undefined) deepEqual(await row.run(), row.expected);
    else deepEqual(await row.suite(row.short), expected(row));
    passed++;
    console.log(`ok ${what}, ${((performance.now() - start) / 1000).toFixed(1)} s`);
  } catch (error) {
    failed++;
    console.error(`FAILED ${what}\n  ${(error.stack ?? error.message).slice(0, 4000).replaceAll("\n", "\n  ")}`);
  }
}

if (failed === 0 && words.length === 0) {
  const page = readFileSync(PAGE, "utf8");
  if (process.argv.includes("--write")) writeFileSync(PAGE, written(page, rows));
  else if (!compared(page, rows)) {
    failed++;
    console.error("FAILED docs/reference/runtimes.md has other rows, or other versions of tools: npm run everywhere -- --write");
  }
}
if (passed + failed === 0) {
  failed++;
  console.error(`FAILED: no row has the words ${words.join(" ")}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
