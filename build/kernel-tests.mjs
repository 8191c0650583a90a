// Tests the kernels without the package: compiles the specs of test/kernel together with as-pect's own sources, and runs them in one instance. The command line
// of as-pect would compile every spec separately and would not print the cause of a trap, so this program drives its TestContext.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, relative } from "node:path";
import { files, root, step } from "./steps.mjs";

const CONFIG = "test/kernel/as-pect.asconfig.json";
const MODULE = "dist/kernel-tests.wasm";
/** The module of the specs that words on the command line select. It is compiled each time, in about a second. */
const SELECTED = "dist/kernel-tests-selected.wasm";
const SOURCES = [...files("assembly"), ...files("test/kernel"), "asconfig.json", "package-lock.json"];

/** Runs the specs and prints failures. Returns the numbers of passed and failed tests. @param words parts of the paths of specs; without any, all specs run */
export async function kernelTests(words = []) {
  // The import is dynamic, because this file is also loaded in a clone without node_modules.
  const { TestContext } = await import("@as-pect/core");
  const { instantiateSync } = await import("@assemblyscript/loader");
  const all = files("test/kernel", ".spec.ts").map((spec) => relative(root, spec));
  const specs = words.length === 0 ? all : all.filter((spec) => words.some((word) => spec.includes(word)));
  const module = words.length === 0 ? MODULE : SELECTED;
  if (specs.length === 0) {
    console.error(`no spec of test/kernel has ${words.join(" or ")} in its path. There are ${all.map((spec) => basename(spec, ".spec.ts")).join(", ")}`);
    return { passed: 0, failed: 1 };
  }
  try {
    if (words.length > 0) await compile(specs, module);
    else await step("kernel tests", "dist/.stamp-kernel-tests", SOURCES, () => compile(specs, module));
  } catch (error) {
    console.error(error.message);
    return { passed: 0, failed: 1 };
  }
  const binary = readFileSync(module);
  const report = new Report();
  const context = new TestContext({ fileName: "test/kernel", reporter: report, binary });
  const abort = (_message, file, line, column) => report.stopped(context.getString(file, "?"), line, column);
  context.run(instantiateSync(binary, context.createImports({ env: { abort } })));
  if (report.passed === 0) report.fail("test/kernel", "no test ran");
  if (!context.pass && report.failed === 0) report.fail("test/kernel", context.errors.map((error) => `${error.message}\n${error.stackTrace}`).join("\n"));
  console.log(`kernels: ${report.passed} passed, ${report.failed} failed`);
  return { passed: report.passed, failed: report.failed };
}

/** Compiles specs into one module. @throws Error with the compiler's messages if compilation fails */
async function compile(specs, module) {
  const { main: asc } = await import("assemblyscript/asc");
  mkdirSync("dist", { recursive: true });
  const { error, stderr } = await asc([...specs, "--config", CONFIG, "--target", "kernel"], {
    writeFile(name, contents) {
      if (name.endsWith(".wasm")) writeFileSync(module, contents);
    },
  });
  if (error) throw new Error(stderr.toString() || error.message);
}

/** Receives every test and group that has ended, from as-pect. */
class Report {
  passed = 0;
  failed = 0;
  #where = "";

  /** Notes the location at which an assertion or an error stopped the test. */
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
    // A group only fails itself if it stops before its tests, or between two of them. Otherwise its tests report failures.
    else if (isTest || (!node.pass && node.children.every((child) => child.pass || !child.ran))) this.fail(nameOf(node), this.#why(context, node));
    // The next trap must not show the values of this one.
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

/** Returns the names of the groups and the test, outermost first. */
function nameOf(node) {
  return node.parent?.parent ? `${nameOf(node.parent)} › ${node.name}` : node.name || "test/kernel";
}
