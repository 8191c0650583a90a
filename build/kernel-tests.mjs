// Runs the kernels without the package: specs of test/kernel, compiled together with as-pect's own sources, in one instance.
// as-pect's command line would compile every spec by itself and print no cause of a trap, so its TestContext is driven from here.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, relative } from "node:path";
import { files, root, step } from "./steps.mjs";

const CONFIG = "test/kernel/as-pect.asconfig.json";
const MODULE = "dist/kernel-tests.wasm";
/** Specs that a word has selected: they are compiled each time, in about a second. */
const SELECTED = "dist/kernel-tests-selected.wasm";
const SOURCES = [...files("assembly"), ...files("test/kernel"), "asconfig.json", "package-lock.json"];

/**
 * Runs them and prints what fails; how many passed and failed.
 * @param words parts of the paths of specs; without any, all specs run
 */
export async function kernelTests(words = []) {
  // Not before: this file is read in a clone that has no node_modules yet.
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

/** Compiles specs into one module. @throws Error with the compiler's messages, if it does not compile */
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
