// The kernels alone: all of test/kernel/*.spec.ts, compiled together with as-pect's own sources, in one instance.
// as-pect's command line would compile every spec by itself and print no cause of a trap, so its TestContext is driven from here.
import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { files, root, step } from "./steps.mjs";

const CONFIG = "test/kernel/as-pect.asconfig.json";
const MODULE = "dist/kernel-tests.wasm";
const SOURCES = [...files("assembly"), ...files("test/kernel"), "asconfig.json", "package-lock.json"];

/** Runs them and prints what fails; how many passed and failed. */
export async function kernelTests() {
  // Not before: this file is read in a clone that has no node_modules yet.
  const { TestContext } = await import("@as-pect/core");
  const { instantiateSync } = await import("@assemblyscript/loader");
  try {
    await step("kernel tests", "dist/.stamp-kernel-tests", SOURCES, compile);
  } catch (error) {
    console.error(error.message);
    return { passed: 0, failed: 1 };
  }
  const binary = readFileSync(MODULE);
  const report = new Report();
  const context = new TestContext({ fileName: "test/kernel", reporter: report, binary });
  const abort = (_message, file, line, column) => report.stopped(context.getString(file, "?"), line, column);
  context.run(instantiateSync(binary, context.createImports({ env: { abort } })));
  if (report.passed === 0) report.fail("test/kernel", "no test ran");
  if (!context.pass && report.failed === 0) report.fail("test/kernel", context.errors.map((error) => `${error.message}\n${error.stackTrace}`).join("\n"));
  console.log(`kernels: ${report.passed} passed, ${report.failed} failed`);
  return { passed: report.passed, failed: report.failed };
}

/** The module with all specs in it. Where it does not compile the error has the compiler's messages. */
async function compile() {
  const { main: asc } = await import("assemblyscript/asc");
  const specs = files("test/kernel", ".spec.ts").map((spec) => relative(root, spec));
  const { error, stderr } = await asc([...specs, "--config", CONFIG, "--target", "kernel"], {
    writeFile(name, contents) {
      if (name.endsWith(".wasm")) writeFileSync(MODULE, contents);
    },
  });
  if (error) throw new Error(stderr.toString() || error.message);
}

/** as-pect tells it of every test and group that ends. */
class Report {
  passed = 0;
  failed = 0;
  #where = "";

  /** Where an assertion or a throw stopped the test. */
  stopped(file, line, column) {
    this.#where = `${file}:${line}:${column}`;
  }

  fail(name, why) {
    this.failed++;
    console.error(`FAILED ${name}\n  ${why.trim().replaceAll("\n", "\n  ")}`);
  }

  onEnter() {}

  onExit(context, node) {
    const isTest = node.type === 0;
    if (isTest && node.pass) this.passed++;
    // A group fails on its own where it stops before its tests, or between two of them; else its tests tell.
    else if (isTest || (!node.pass && node.children.every((child) => child.pass || !child.ran))) this.fail(nameOf(node), this.#why(context, node));
    // The next one to trap must not show this one's values.
    context.message = context.stack = this.#where = "";
    context.actual = context.expected = null;
  }

  onFinish() {}

  #why(context, { negated, actual, expected, errors }) {
    if (negated) return "was to trap, and did not";
    const lines = [context.message, this.#where];
    if (actual) lines.push(`got ${actual.stringify({ indent: 0 })}`);
    if (expected) lines.push(`expected ${expected.negated ? "not " : ""}${expected.stringify({ indent: 0 })}`);
    return [...lines, ...[...errors, ...context.errors].map((error) => `${error.message}\n${error.stackTrace}`), ...context.stack.split("\n")]
      .filter((line) => line && !line.includes("@as-pect"))
      .join("\n");
  }
}

/** Groups and test, from the outermost on. */
function nameOf(node) {
  return node.parent?.parent ? `${nameOf(node.parent)} › ${node.name}` : node.name || "test/kernel";
}
