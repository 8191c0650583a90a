// Runs the tests: first the kernels (as-pect), then everything else (vitest). Ends with `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { kernelTests } from "./kernel-tests.mjs";
import { runtimes } from "./runtimes.mjs";
import { root } from "./steps.mjs";

/** The report of vitest. Each process has its own file, because CI runs several processes in parallel. */
const REPORT = join(root, `dist/vitest-${process.pid}.json`);
/** Test files that `npm test` leaves to whole runs, each with a file that tests the same kind of behavior in quick runs. */
const STAND_INS = JSON.parse(readFileSync(join(root, "test/stand-ins.json"), "utf8"));
const SLOWEST = 8;
/** The limit in seconds for a test file in `npm test`. A slower file is reported, but does not fail. */
const BUDGET = 5;

/** Returns the words before all vitest options: parts of the paths of test files. */
export function wordsOf(args) {
  const own = args.filter((arg) => !OWN.includes(arg));
  const end = own.findIndex((arg) => arg.startsWith("-"));
  return end < 0 ? own : own.slice(0, end);
}

/** Options that vitest does not have, or that may precede the words. */
const OWN = ["--rest", "--watch"];

/**
 * @param args options for vitest; --rest runs only the suites that "quick" runs in part, --watch runs tests again when a file changes
 * @param size "quick" or "all": test/support/size.ts reads it
 */
export async function test(args, size) {
  const start = performance.now();
  const env = { ...process.env, REPRISE_TESTS: size };
  if (args.includes("--watch")) {
    const words = args.filter((arg) => arg !== "--watch");
    const vitest = ["node_modules/vitest/vitest.mjs", "watch", "--config", "test/vitest.config.ts", ...words];
    return spawnSync(process.execPath, vitest, { stdio: "inherit", cwd: root, env }).status ?? 1;
  }
  const rest = args.includes("--rest");
  const left = Object.keys(STAND_INS);
  // If a word selects one of these files, the file runs in part, like the others.
  const leaves = size === "quick" && wordsOf(args).length === 0;
  const kernels = args.length === 0 ? await kernelTests() : { passed: 0, failed: 0 };
  const vitest = [
    "node_modules/vitest/vitest.mjs",
    ...(rest ? ["related", ...["support/size.ts", ...left].map((file) => join(root, "test", file)), "--run"] : ["run"]),
    ...(leaves ? left.flatMap((file) => ["--exclude", file]) : []),
    "--config",
    "test/vitest.config.ts",
    // A log lists failures. Only a terminal shows progress.
    `--reporter=${process.stdout.isTTY ? "dot" : "minimal"}`,
    "--reporter=json",
    `--outputFile=${REPORT}`,
    ...args.filter((arg) => arg !== "--rest"),
  ];
  const { status } = spawnSync(process.execPath, vitest, { stdio: "inherit", cwd: root, env });
  const report = existsSync(REPORT) ? JSON.parse(readFileSync(REPORT, "utf8")) : { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, testResults: [] };
  rmSync(REPORT, { force: true });
  const passed = kernels.passed + report.numPassedTests;
  // A file that could not be loaded has no failed tests, so it is counted separately. A run without tests has not passed.
  const failed = kernels.failed + Math.max(report.numFailedTests, status === 0 && passed > 0 ? 0 : 1);
  const times = timesOf(report.testResults);
  console.log(`\n${((performance.now() - start) / 1000).toFixed(0)} s. SLOWEST: ${listed(times.slice(0, SLOWEST))}`);
  const over = times.filter(([seconds]) => seconds > BUDGET);
  if (size === "quick" && over.length > 0) console.log(`OVER THE BUDGET of ${BUDGET} s: ${over.length} of ${times.length} files: ${listed(over)}`);
  if (leaves) console.log(`LEFT TO WHOLE RUNS: ${left.length} files, for each of which another one stands (test/stand-ins.json).`);
  if (size === "quick") console.log('QUICK: of what takes long this was a part. "npm run test:all" runs everything.');
  if (report.numPendingTests > 0) console.log(leftOut(report.numPendingTests, size));
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Returns the seconds and the path of each test file, slowest first. */
function timesOf(files) {
  const times = files.map(({ name, startTime, endTime }) => [(endTime - startTime) / 1000, relative(join(root, "test"), name)]);
  return times.sort(([a], [b]) => b - a);
}

function listed(times) {
  return times.map(([seconds, name]) => `${name} ${seconds.toFixed(1)} s`).join(", ");
}

/** Returns why tests were skipped, and the remedy. */
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
