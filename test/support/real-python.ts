/** Finds a Python with certain packages, for tests that read our files with the real tools. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./core.ts";

/** Folders in build/ in which other scripts install a Python. */
const HOMES = ["python", "datasets"];

/**
 * Returns the first Python that can import all of the packages: the Python in REPRISE_PYTHON, the Pythons in build/, or python3. If no Python can, returns
 * undefined and prints a line on stderr.
 * @throws Error instead if REPRISE_PYTHON_REQUIRED is set, because .ci/exports.mjs must not skip tests
 */
export function pythonWith(...packages: readonly string[]): string | undefined {
  const { REPRISE_PYTHON, REPRISE_PYTHON_REQUIRED } = process.env;
  const made = HOMES.map((home) => join(root, "build", home, "bin/python")).filter((path) => existsSync(path));
  const candidates = [...(REPRISE_PYTHON ? [REPRISE_PYTHON] : []), ...made, "python3"];
  const found = candidates.find((program) => spawnSync(program, ["-c", `import ${packages.join(", ")}`]).status === 0);
  if (found !== undefined) return found;
  const problem = `no Python has ${packages.join(", ")}. REPRISE_PYTHON may name one that does`;
  if (REPRISE_PYTHON_REQUIRED) throw new Error(problem);
  console.warn(`SKIPPED: ${problem}`);
  return undefined;
}
