// Runs the tests of the Python package in a separate Python environment: `npm run test:python [-- --torch] [-- arguments of pytest]`. With --torch, the tests
// include the learners of the examples.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../build/step.mjs";
import { made, PROGRAM, torch } from "./python.mjs";

const folder = join(root, "embed/python");
const REPORT = join(root, "dist/pytest.xml");
const TORCH = "--torch";
const args = process.argv.slice(2);

const missing = made();
if (missing !== undefined) fail(missing);
const withoutTorch = args.includes(TORCH) ? torch() : undefined;
if (withoutTorch !== undefined) fail(withoutTorch);

rmSync(REPORT, { force: true });
run(["-m", "pytest", "-q", "-p", "no:cacheprovider", `--junitxml=${REPORT}`, ...args.filter((arg) => arg !== TORCH)]);
if (!existsSync(REPORT)) fail("pytest gave no report");
const [, suite] = readFileSync(REPORT, "utf8").match(/<testsuite ([^>]*)>/);
const [tests, skipped, ...bad] = ["tests", "skipped", "failures", "errors"].map((name) => Number(suite.match(` ${name}="(\\d+)"`)[1]));
const failed = bad[0] + bad[1];
if (skipped > 0) console.log(`LEFT OUT: ${skipped} tests, since torch is not installed: "npm run test:python -- --torch" installs it, and runs them.`);
console.log(`${tests - skipped - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 && tests > skipped ? 0 : 1;

/** Runs Python; returns whether it succeeded. */
function run(pythonArgs) {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", REPRISE_NODE: process.execPath };
  return spawnSync(PROGRAM, pythonArgs, { cwd: folder, stdio: "inherit", env }).status === 0;
}

function fail(why) {
  console.error(`FAILED: ${why}`);
  console.log("0 passed, 1 failed");
  process.exit(1);
}
