// Runs the tests: the kernels alone (as-pect), then everything else (vitest). Closes with `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { kernelTests } from "./kernel-tests.mjs";
import { runtimes } from "./runtimes.mjs";
import { root } from "./steps.mjs";

const REPORT = join(root, "dist/vitest.json");
const SLOWEST = 8;

/**
 * @param args of vitest; --rest takes the suites alone of which "quick" tries a part
 * @param size "quick" or "all": test/support/size.ts reads it
 */
export async function test(args, size) {
  const start = performance.now();
  const rest = args.includes("--rest");
  const kernels = args.length === 0 ? await kernelTests() : { passed: 0, failed: 0 };
  rmSync(REPORT, { force: true });
  const vitest = [
    "node_modules/vitest/vitest.mjs",
    ...(rest ? ["related", join(root, "test/support/size.ts"), "--run"] : ["run"]),
    "--config",
    "test/vitest.config.ts",
    // A log names what fails; only a terminal shows how far it is.
    `--reporter=${process.stdout.isTTY ? "dot" : "minimal"}`,
    "--reporter=json",
    `--outputFile=${REPORT}`,
    ...args.filter((arg) => arg !== "--rest"),
  ];
  const { status } = spawnSync(process.execPath, vitest, { stdio: "inherit", cwd: root, env: { ...process.env, REPRISE_TESTS: size } });
  const report = existsSync(REPORT) ? JSON.parse(readFileSync(REPORT, "utf8")) : { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, testResults: [] };
  const passed = kernels.passed + report.numPassedTests;
  // A file that could not even be loaded has no tests that fail, and what ran nothing has not passed.
  const failed = kernels.failed + Math.max(report.numFailedTests, status === 0 && passed > 0 ? 0 : 1);
  console.log(`\n${((performance.now() - start) / 1000).toFixed(0)} s. SLOWEST: ${slowest(report.testResults)}`);
  if (size === "quick") console.log('QUICK: of what takes long this was a part. "npm run test:all" runs everything.');
  if (report.numPendingTests > 0) console.log(leftOut(report.numPendingTests, size));
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** The files that took longest, with their seconds. */
function slowest(files) {
  const seconds = files.map(({ name, startTime, endTime }) => [(endTime - startTime) / 1000, relative(join(root, "test"), name)]);
  const first = seconds.sort(([a], [b]) => b - a).slice(0, SLOWEST);
  return first.map(([time, name]) => `${name} ${time.toFixed(1)} s`).join(", ");
}

/** Why tests were left out, and what to do about it. */
function leftOut(tests, size) {
  const missing = Object.entries(runtimes()).flatMap(([name, program]) => (program === undefined ? [name] : []));
  const reasons = [
    ...(size === "quick" ? ["they take long"] : []),
    "they measure time",
    `they look at the page in browsers: "npm run test:page" runs them`,
    ...(process.env.REPRISE_REVERB_PYTHON === undefined ? [`they speak to a real Reverb server: "npm run interop" runs them`] : []),
    ...(missing.length === 0 ? [] : [`they run in what is not installed (${missing.join(", ")}): "npm run runtimes" installs it, and runs them`]),
  ];
  return `LEFT OUT: ${tests} tests, since ${reasons.join(", or ")}.`;
}
