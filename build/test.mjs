// Runs the tests: the kernels alone (as-pect), then everything else (vitest). Closes with `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { kernelTests } from "./kernel-tests.mjs";
import { runtimes } from "./runtimes.mjs";
import { root } from "./steps.mjs";

const REPORT = join(root, "dist/vitest.json");

export async function test(args) {
  const kernels = args.length === 0 ? await kernelTests() : { passed: 0, failed: 0 };
  rmSync(REPORT, { force: true });
  const vitest = [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--config",
    "test/vitest.config.ts",
    "--reporter=dot",
    "--reporter=json",
    `--outputFile=${REPORT}`,
    ...args,
  ];
  const { status } = spawnSync(process.execPath, vitest, { stdio: "inherit", cwd: root });
  const report = existsSync(REPORT) ? JSON.parse(readFileSync(REPORT, "utf8")) : { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0 };
  const passed = kernels.passed + report.numPassedTests;
  // A file that could not even be loaded has no tests that fail.
  const failed = kernels.failed + Math.max(report.numFailedTests, status === 0 ? 0 : 1);
  if (report.numPendingTests > 0) console.log(leftOut(report.numPendingTests));
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Why tests were left out, and what to do about it. */
function leftOut(tests) {
  const missing = Object.entries(runtimes()).flatMap(([name, program]) => (program === undefined ? [name] : []));
  const why = missing.length === 0 ? "they measure time" : `they measure time, or run in what is not installed: ${missing.join(", ")}`;
  return `\nLEFT OUT: ${tests} tests, since ${why}.\n"npm run runtimes" installs what is missing, and runs them.\n`;
}
