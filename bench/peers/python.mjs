/** The Python of all peers: build/peers/python, made once from requirements.txt, or one that REPRISE_PEERS names and that has all of it. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const VERSIONS = [
  [3, 11],
  [3, 12],
  [3, 13],
];

/** Its program, or why there is none. */
export function python(scratch) {
  if (process.env.REPRISE_PEERS) return { program: process.env.REPRISE_PEERS };
  const home = join(scratch, "python");
  const [program, stamp] = [join(home, "bin/python"), join(home, "requirements.txt")];
  const file = join(import.meta.dirname, "requirements.txt");
  const wanted = readFileSync(file, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return { program };
  const host = VERSIONS.map(([major, minor]) => `python${major}.${minor}`).find((name) => spawnSync(name, ["-c", "import venv, ensurepip"]).status === 0);
  if (host === undefined)
    return { missing: "there is no Python 3.11, 3.12 or 3.13 with venv here; REPRISE_PEERS names one that has bench/peers/requirements.txt" };
  console.error(`the peers' Python is made in ${home}; this takes some minutes and 3 GB …`);
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  // torch alone comes first: with it in place nothing else chooses a build for graphics cards.
  const torch = wanted.match(/^torch==.*$/m)[0];
  for (const [command, args] of [
    [host, ["-m", "venv", "--clear", home]],
    [program, [...pip, torch]],
    [program, [...pip, "-r", file]],
  ]) {
    const { status } = spawnSync(command, args, { stdio: ["ignore", 2, 2] });
    if (status !== 0) return { missing: `${command} ${args.join(" ")} ended with exit code ${status}` };
  }
  writeFileSync(stamp, wanted);
  return { program };
}
