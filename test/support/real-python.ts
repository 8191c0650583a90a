/** Finds a Python with certain packages, for tests that read our files with the real tools. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./core.ts";

/** Folders in which other runs install a Python. */
const HOMES = ["python", "datasets"];

/**
 * Returns the first Python that can import all of the packages: that of REPRISE_PYTHON, those in build/, or python3. If none can, returns undefined and prints
 * a line on stderr.
 * @throws Error in that case if REPRISE_PYTHON_REQUIRED is set, because .ci/exports.mjs skips nothing
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
