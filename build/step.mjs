// Runs one step of a build. The step leaves a stamp, the hash of its inputs, and is skipped until that hash changes.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);

export async function step(name, stamp, sources, make) {
  const hash = createHash("sha256");
  for (const file of sources) hash.update(file).update("\0").update(readFileSync(file)).update("\0");
  const digest = hash.digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  const start = performance.now();
  process.stderr.write(`${name} …\n`);
  await make();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
  process.stderr.write(`${name} done in ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

/** Returns the files below a folder, in an order that is the same everywhere. */
export function files(folder, ending = "") {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith(ending) && statSync(file).isFile())
    .sort();
}

/** Runs a command. If it fails, so does this process. */
export function execute(command, args, cwd = root) {
  const { status, error } = spawnSync(command, args, { stdio: ["inherit", 2, "inherit"], cwd });
  if (status === 0) return;
  console.error(`${command} ${args.join(" ")}: ${error?.message ?? `exit ${status}`}`);
  process.exit(status ?? 1);
}

/** Returns the output of a command. @throws Error with all output if the command fails */
export function printed(cwd, command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8", shell: process.platform === "win32" });
  if (status !== 0) throw new Error(error?.message ?? `${command} ${args.join(" ")}: exit ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** Runs the npm that started this process, quietly. */
export function npm(args, cwd) {
  const all = [...args, "--no-audit", "--no-fund", "--loglevel=error"];
  if (process.env.npm_execpath !== undefined) execute(process.execPath, [process.env.npm_execpath, ...all], cwd);
  else execute(process.platform === "win32" ? "npm.cmd" : "npm", all, cwd);
}
