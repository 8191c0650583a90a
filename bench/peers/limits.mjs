/** Compiles the limits in C for this processor. */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

export const PROGRAMS = ["rows", "copies"];

/** Returns the folder of the programs, or the reason why there is none. */
export function limits(scratch) {
  const folder = join(scratch, "c");
  mkdirSync(folder, { recursive: true });
  for (const name of PROGRAMS) {
    const args = ["-O3", "-march=native", "-Wall", "-o", join(folder, name), join(import.meta.dirname, "c", `${name}.c`), "-lm"];
    const { status, error, stderr } = spawnSync("gcc", args, { encoding: "utf8" });
    if (status !== 0) return { missing: `gcc ${args.join(" ")}: ${error?.message ?? stderr}` };
  }
  const { stdout } = spawnSync("gcc", ["--version"], { encoding: "utf8" });
  return { folder, version: stdout.split("\n")[0] };
}
