/** Creates the Python environment for the package's tests and for players of recorded operations, build/embed/python, once from requirements.txt. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../build/step.mjs";
import { venv } from "../../../build/venv.mjs";

const REQUIREMENTS = join(root, "embed/python/requirements.txt");
const HOME = join(root, "build/embed/python");

/** The path of the Python interpreter, which may not exist yet; the player of operation files; the version of wasmtime. */
export const PROGRAM = join(HOME, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
export const PLAYER = join(root, "embed/python/tests/player.py");
export const WASMTIME = readFileSync(REQUIREMENTS, "utf8").match(/^wasmtime==(.*)$/m)[1];

/** Installs Torch in the environment if it is missing. Returns the reason if it cannot be installed. */
export function torch() {
  if (spawnSync(PROGRAM, ["-c", "import torch"]).status === 0) return undefined;
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", join(root, "embed/python/examples/requirements.txt")];
  return spawnSync(PROGRAM, pip, { stdio: "inherit" }).status === 0 ? undefined : "torch cannot be installed";
}

/** Creates the environment if it is missing. Returns the reason if it cannot be created. */
export function made() {
  return venv(HOME, REQUIREMENTS, ["3.11", "3.12", "3.13"]).missing;
}
