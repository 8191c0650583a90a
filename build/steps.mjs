// The steps of a build. Each leaves a stamp, the hash of what it was made from, and is skipped while that hash stands.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { coreLiteral, PLACEHOLDER, writeCoreBytes } from "./core-bytes.mjs";

/** Features that every runtime has which we run in; the core's own switches (SIMD) are asc's. */
const FEATURES = ["simd", "bulk-memory", "sign-ext", "nontrapping-float-to-int", "mutable-globals"].map((feature) => `--enable-${feature}`);

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
      if (target === "debug") return;
      const file = target === "release" ? "dist/core.wasm" : `dist/core.${target}.wasm`;
      // For size, after asc has optimised for speed: a tenth smaller in transit, and as fast.
      execute(process.execPath, ["node_modules/binaryen/bin/wasm-opt", "-Os", "-lmu", ...FEATURES, file, "-o", file]);
      if (target === "release") writeCoreBytes(file, "dist/core-bytes.js");
    });
  }
}

/** Bundles the entries of the package, the core inlined in the main one, and the programs that run it elsewhere. */
export async function bundle() {
  const sources = [...files("src"), ...files("test/runtime"), ...files("test/conformance", ".ts"), "dist/core-bytes.js", "build/steps.mjs", "package.json"];
  await step("bundle", "dist/.stamp-bundle", sources, async () => {
    const { build } = await import("esbuild");
    const common = { bundle: true, format: "esm", platform: "neutral", target: "es2022", charset: "utf8", logLevel: "warning" };
    await build({ ...common, entryPoints: ["src/index.ts"], outfile: "dist/index.js", minify: true, plugins: [placeholder] });
    writeFileSync("dist/index.js", readFileSync("dist/index.js", "utf8").replace(`"${PLACEHOLDER}"`, () => coreLiteral("dist/core.wasm")));
    await build({ ...common, entryPoints: ["src/snapshot/index.ts"], outfile: "dist/snapshot.js", minify: true, plugins: [mainEntry] });
    for (const [name, entry] of Object.entries(PROGRAMS)) {
      if (existsSync(entry)) await build({ ...common, entryPoints: [entry], outfile: `dist/${name}.mjs`, platform: name === "conformance" ? "node" : "neutral" });
    }
  });
}

/** Programs that carry the whole package with them. */
const PROGRAMS = { digest: "test/runtime/digest.ts", conformance: "test/conformance/run.ts" };

const placeholder = {
  name: "placeholder for the core",
  setup(build) {
    build.onLoad({ filter: /core-bytes\.js$/ }, () => ({ contents: `export default "${PLACEHOLDER}";` }));
  },
};

/** Subpaths share the main entry's classes: they import it instead of bringing their own. */
const mainEntry = {
  name: "main entry",
  setup(build) {
    build.onResolve({ filter: /^\.\.\/index\.ts$/ }, () => ({ path: "./index.js", external: true }));
  },
};

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
