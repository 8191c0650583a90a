// One script a verb, each with all its own set-up: `node build/run.mjs build | test | check | bench | conformance [arguments]`.
// Nothing is needed but Node; what is up to date is not done again.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { bundle, core, declarations, dependencies, root } from "./steps.mjs";
import { test } from "./test.mjs";

const [verb, ...args] = process.argv.slice(2);
const verbs = {
  async build() {
    await core(["release", "scalar", "debug"]);
    await bundle();
    await declarations();
  },
  async test() {
    await verbs.build();
    process.exitCode = await test(args);
  },
  async check() {
    await core(["release"]);
    await bundle();
    run("node_modules/typescript/bin/tsc", ["-p", "tsconfig.json"]);
    run("node_modules/@biomejs/biome/bin/biome", ["check", ...(args.includes("--write") ? ["--write"] : []), "."]);
    run("build/direction.mjs", []);
  },
  async bench() {
    await core(["release"]);
    await bundle();
    run("bench/run.mjs", args, ["--expose-gc"]);
  },
  async conformance() {
    await core(["release"]);
    await bundle();
    run("dist/conformance.mjs", args);
  },
};

/** Runs a script with this Node; its failure is ours. */
function run(script, scriptArgs, nodeArgs = []) {
  const { status } = spawnSync(process.execPath, [...nodeArgs, script, ...scriptArgs], { stdio: "inherit", cwd: root });
  if (status !== 0) process.exit(status ?? 1);
}

if (!(verb in verbs)) {
  console.error(`usage: node build/run.mjs ${Object.keys(verbs).join(" | ")}`);
  process.exit(2);
}
if (!existsSync("package.json")) process.chdir(root);
await dependencies();
await verbs[verb]();
