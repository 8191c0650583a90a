/** The tests of reprise/reverb against a real server and Python's client, in a Python of their own: build/interop, made once from examples/reverb/requirements.txt. */
import { join } from "node:path";
import { root } from "./step.mjs";
import { test } from "./test.mjs";
import { venv } from "./venv.mjs";

/** @returns an exit code */
export async function interop(args) {
  return withPython("the tests of test/interop") ? await test(["interop", ...args], "all") : 1;
}

/** Sees to a Python with Reverb: REPRISE_REVERB_PYTHON names it. @param what cannot run without */
export function withPython(what) {
  // tensorflow 2.15 has no wheels for others.
  const { program, missing } = venv(join(root, "build/interop"), join(root, "examples/reverb/requirements.txt"), ["3.11", "3.10", "3.9"]);
  if (missing === undefined) process.env.REPRISE_REVERB_PYTHON = program;
  else console.error(`${what} cannot run: ${missing}`);
  return missing === undefined;
}
