/** The Python of the package's tests, and of what plays recorded operations: build/embed/python, made once from requirements.txt. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../build/step.mjs";
import { venv } from "../../../build/venv.mjs";

const REQUIREMENTS = join(root, "embed/python/requirements.txt");
const HOME = join(root, "build/embed/python");

/** Where it is, made or not; plays files of operations; the version of wasmtime. */
export const PROGRAM = join(HOME, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
export const PLAYER = join(root, "embed/python/tests/player.py");
export const WASMTIME = readFileSync(REQUIREMENTS, "utf8").match(/^wasmtime==(.*)$/m)[1];

/** Makes it, where that is not done; why it cannot be made. */
export function made() {
  return venv(HOME, REQUIREMENTS, ["3.11", "3.12", "3.13"]).missing;
}
