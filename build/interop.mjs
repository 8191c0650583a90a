/** Runs the tests of reprise/reverb against a real server and the client of Python. Their Python, build/interop, is made once from examples/reverb/requirements.txt. */
import { join } from "node:path";
import { root } from "./step.mjs";
import { test } from "./test.mjs";
import { venv } from "./venv.mjs";

/** A Python with the real packages: its program, or why there is none. REPRISE_REVERB_PYTHON names one that is there already. */
export function python() {
  if (process.env.REPRISE_REVERB_PYTHON !== undefined) return { program: process.env.REPRISE_REVERB_PYTHON };
  // tensorflow 2.15 has no wheels for others.
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
