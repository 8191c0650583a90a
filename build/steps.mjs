// The steps of a build. Each leaves a stamp, the hash of what it was made from, and is skipped while that hash stands.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeCoreBytes } from "./core-bytes.mjs";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);

/** Installs what package-lock.json says. */
export async function dependencies() {
  await step("dependencies", "node_modules/.reprise-stamp", ["package-lock.json"], () => {
    const npm = process.env.npm_execpath;
    const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    if (npm === undefined) execute(process.platform === "win32" ? "npm.cmd" : "npm", args);
    else execute(process.execPath, [npm, ...args]);
  });
}

/** Compiles the core for the given targets; the release build is what the package inlines. */
export async function core(targets) {
  const sources = [...files("assembly"), "asconfig.json", "package-lock.json", "build/steps.mjs", "build/core-bytes.mjs"];
  for (const target of targets) {
    await step(`core (${target})`, `dist/.stamp-core-${target}`, sources, () => {
      execute(process.execPath, ["node_modules/assemblyscript/bin/asc.js", "--config", "asconfig.json", "--target", target]);
      if (target === "release") writeCoreBytes("dist/core.wasm", "dist/core-bytes.js");
    });
  }
}

/** Bundles the main entry with the core inlined, and the programs that run it elsewhere. */
export async function bundle() {
  const sources = [...files("src"), ...files("test/runtime"), ...files("test/conformance", ".ts"), "dist/core-bytes.js", "build/steps.mjs", "package.json"];
  await step("bundle", "dist/.stamp-bundle", sources, async () => {
    const { build } = await import("esbuild");
    const common = { bundle: true, format: "esm", platform: "neutral", target: "es2022", charset: "utf8", logLevel: "warning" };
    await build({ ...common, entryPoints: ["src/index.ts"], outfile: "dist/index.js", minify: true, sourcemap: true });
    if (existsSync("test/runtime/digest.ts")) {
      await build({ ...common, entryPoints: ["test/runtime/digest.ts"], outfile: "dist/digest.mjs", loader: { ".wasm": "binary" } });
    }
    if (existsSync("test/conformance/run.ts")) {
      await build({ ...common, entryPoints: ["test/conformance/run.ts"], outfile: "dist/conformance.mjs", platform: "node" });
    }
  });
}

/** The types of the main entry. */
export async function declarations() {
  await step("types", "dist/.stamp-types", [...files("src"), "tsconfig.json", "tsconfig.build.json"], () => {
    rmSync("dist/types", { recursive: true, force: true });
    execute(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"]);
  });
}

async function step(name, stamp, sources, make) {
  const hash = createHash("sha256");
  for (const file of sources) hash.update(file).update("\0").update(readFileSync(file)).update("\0");
  const digest = hash.digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  const start = performance.now();
  process.stdout.write(`${name} …\n`);
  await make();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
  process.stdout.write(`${name} done in ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

/** The files below a folder, in an order that is the same everywhere. */
export function files(folder, ending = "") {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

function execute(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit", cwd: root });
  if (status === 0) return;
  console.error(`${command} ${args.join(" ")}: ${error?.message ?? `exit ${status}`}`);
  process.exit(status ?? 1);
}
