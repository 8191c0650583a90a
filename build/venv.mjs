/** Creates a Python environment for the project from a file of requirements, and recreates it when that file changes. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installDebian } from "./debian.mjs";

/**
 * Returns the program of a virtual environment of Python, or the reason why there is none.
 * @param versions accepted Python versions in order of preference
 * @param first names of packages among the requirements that are installed before the others
 * @param bare names of packages that are installed last, without their own dependencies
 */
export function venv(home, requirements, versions, first = [], bare = []) {
  const program = join(home, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const stamp = join(home, "requirements.txt");
  const wanted = readFileSync(requirements, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return { program };
  const found = () => [...versions.map((version) => `python${version}`), "python3", "python"].find((name) => versions.includes(versionOf(name)));
  let host = found();
  if (host === undefined) {
    installDebian(["python3-venv"]);
    host = found();
  }
  if (host === undefined) return { missing: `there is no Python ${versions.join(" or ")} with venv here` };
  console.error(`${home} is made, a Python with ${requirements} …`);
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  const lines = wanted.split("\n").filter((line) => line.trim() !== "");
  const isOne = (names) => (line) => names.some((name) => line.startsWith(`${name}==`));
  const [before, after] = [lines.filter(isOne(first)), lines.filter(isOne(bare))];
  for (const [command, args] of [
    [host, ["-m", "venv", "--clear", home]],
    ...(before.length > 0 ? [[program, [...pip, ...before]]] : []),
    ...(after.length < lines.length ? [[program, [...pip, ...lines.filter((line) => !after.includes(line))]]] : []),
    ...(after.length > 0 ? [[program, [...pip, "--no-deps", ...after]]] : []),
  ]) {
    const { status } = spawnSync(command, args, { stdio: ["ignore", 2, 2] });
    if (status !== 0) return { missing: `${command} ${args.join(" ")} ended with exit code ${status}` };
  }
  writeFileSync(stamp, wanted);
  return { program };
}

/** Returns the version of the Python with the given program name, or undefined if it is missing or cannot create virtual environments. */
function versionOf(name) {
  const { status, stdout } = spawnSync(name, ["-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}
