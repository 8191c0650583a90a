/** Builds the first version from the history of this repository: the last commit before the package had a single core that is safe and fast. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const COMMIT = "bf41361";

/** Returns the folder `dist` of the first version, or the reason why it could not be built. */
export function firstBuild(scratch, root) {
  const folder = join(scratch, "first-build");
  const [dist, stamp] = [join(folder, "dist"), join(folder, ".built")];
  if (existsSync(stamp)) return { dist };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { stdout, status } = spawnSync(
    "git",
    ["archive", COMMIT, "assembly", "build", "src", "package.json", "package-lock.json", "asconfig.json", "tsconfig.json"],
    {
      cwd: root,
      maxBuffer: 2 ** 28,
    },
  );
  if (status !== 0) return { missing: `commit ${COMMIT} is not in this clone's history` };
  console.error(`the first build is made in ${folder} …`);
  const build = 'const { BUNDLED, bundle, core, dependencies } = await import("./build/steps.mjs"); await dependencies(); await core(BUNDLED); await bundle();';
  for (const [command, args, input] of [
    ["tar", ["-x"], stdout],
    [process.execPath, ["--input-type=module", "-e", build]],
  ]) {
    const made = spawnSync(command, args, { cwd: folder, input, stdio: [input === undefined ? "ignore" : "pipe", 2, 2] });
    if (made.status !== 0) return { missing: `${command} ended with exit code ${made.status} in ${folder}` };
  }
  writeFileSync(stamp, COMMIT);
  return { dist };
}
