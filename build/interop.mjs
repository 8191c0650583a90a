/**
 * Runs the tests of reprise/reverb against a real server and the Python client. Their Python, build/interop, is created once from
 * examples/reverb/requirements.txt.
 */
import { join } from "node:path";
import { root } from "./step.mjs";
import { test } from "./test.mjs";
import { venv } from "./venv.mjs";

/** Returns the path of a Python that has the real packages, or the reason why there is none. REPRISE_REVERB_PYTHON selects an existing Python. */
export function python() {
  if (process.env.REPRISE_REVERB_PYTHON !== undefined) return { program: process.env.REPRISE_REVERB_PYTHON };
  // tensorflow 2.15 has no wheels for other versions.
  return venv(join(root, "build/interop"), join(root, "examples/reverb/requirements.txt"), ["3.11", "3.10", "3.9"]);
}

/** @returns an exit code */
export async function interop(args) {
  const { program, missing } = python();
  if (missing !== undefined) {
    console.error(`the tests of test/interop cannot run: ${missing}`);
    return 1;
  }
  process.env.REPRISE_REVERB_PYTHON = program;
  return await test(["interop", ...args], "all");
}
