/** The tests of reprise/reverb against a real server and Python's client, in a Python of their own: build/interop, made once from requirements.txt. */
import { join } from "node:path";
import { root } from "./step.mjs";
import { test } from "./test.mjs";
import { venv } from "./venv.mjs";

/** @returns an exit code */
export async function interop(args) {
  // tensorflow 2.15 has no wheels for others.
  const { program, missing } = venv(join(root, "build/interop"), join(root, "test/interop/requirements.txt"), ["3.11", "3.10", "3.9"]);
  if (missing !== undefined) {
    console.error(`the tests of test/interop cannot run: ${missing}`);
    return 1;
  }
  process.env.REPRISE_REVERB_PYTHON = program;
  return await test(["interop", ...args], "all");
}
