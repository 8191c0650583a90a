// Finds the builds that test files need, from the paths in their text. `npm test -- WORD` runs only these builds.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { page } from "./page.mjs";
import { bundle, core, declarations, files, operations, programs, root, TARGET_NAMES } from "./steps.mjs";

/** Folders whose tests inspect the package as a whole. */
const WHOLE = /^test\/(package|page|runtime|everywhere)\//;

/** Builds in order, each with the pattern in the text of a test that needs it. Programs that a test starts use the bundles. */
const NEEDS = [
  { name: "core (scalar)", pattern: /"scalar"|core\.scalar/, build: () => core(["scalar"]) },
  { name: "core (debug)", pattern: /"debug"|core\.debug/, build: () => core(["debug"]) },
  { name: "core (kernels)", pattern: /\bcoreOf\b|"kernels"/, build: () => core(["kernels"]) },
  { name: "embed", pattern: /\bembed\b/i, build: () => core(["embed", "embedScalar"]) },
  { name: "bundle", pattern: /\bdist\b|["']reprise["'/]|child_process|\bWorker\(|examples\//, build: bundle },
  { name: "page", pattern: /reprise-page|"page"|serve-page/, build: page },
  { name: "operations", pattern: /operations\.bin|dist\/embed/, build: operations },
  { name: "programs", pattern: /\b(conformance|digest|soak|suite)\.mjs/, build: programs },
  { name: "types", pattern: /typescript|dist\/types/, build: declarations },
];

/** This file contains a table of all targets, so it refers to each of them. */
const CORE = join(root, "test/support/core.ts");

/** Builds everything that `npm test` needs. */
export async function buildEverything() {
  await core(TARGET_NAMES);
  for (const { build } of NEEDS.filter(({ name }) => !/^(core|embed)/.test(name))) await build();
}

/** Builds the release core, and the targets for test files whose paths contain one of the words. @returns the names of the builds */
export async function buildFor(words) {
  const named = (file) => words.some((word) => join(root, file).split(sep).join("/").toLowerCase().includes(word.toLowerCase()));
  const tests = files("test", ".test.ts").filter(named);
  const needed = NEEDS.filter(needOf(tests));
  await core();
  for (const { build } of needed) await build();
  return ["core (release)", ...needed.map(({ name }) => name)];
}

function needOf(tests) {
  if (tests.some((file) => WHOLE.test(file.split(sep).join("/")))) return () => true;
  const texts = [...closure(tests)].filter((file) => file !== CORE).map((file) => readFileSync(file, "utf8"));
  return ({ pattern }) => texts.some((text) => pattern.test(text));
}

/** Returns the paths of the tests, and of all files in test/ to which they refer with relative paths, directly or indirectly. */
function closure(tests) {
  const found = new Set(tests.map((file) => join(root, file)));
  for (const file of found) {
    if (file === CORE) continue;
    for (const [, name] of readFileSync(file, "utf8").matchAll(/["'`](\.{0,2}[\w./-]+\.(?:ts|mjs|js))["'`]/g)) {
      const path = resolve(dirname(file), name);
      if (relative(join(root, "test"), path)[0] !== "." && existsSync(path)) found.add(path);
    }
  }
  return found;
}
