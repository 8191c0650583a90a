/** A Python that has some packages, for tests that read our files with the real tools. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./core.ts";

/** Where the runs that make a Python of their own put it. */
const HOMES = ["python", "datasets", "files"];

/** The first Python that imports all of them: that of REPRISE_PYTHON, those in build/, or python3. Undefined, and a line on stderr, if none does. */
export function pythonWith(...packages: readonly string[]): string | undefined {
  const made = HOMES.map((home) => join(root, "build", home, "bin/python")).filter((path) => existsSync(path));
  const candidates = [...(process.env.REPRISE_PYTHON ? [process.env.REPRISE_PYTHON] : []), ...made, "python3"];
  const found = candidates.find((program) => spawnSync(program, ["-c", `import ${packages.join(", ")}`]).status === 0);
  if (found === undefined) console.warn(`SKIPPED: no Python has ${packages.join(", ")}. REPRISE_PYTHON may name one that does`);
  return found;
}
