// The steps of a build. Each leaves a stamp, the hash of what it was made from, and is skipped while that hash stands.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rename, shortNamesOf } from "./short-names.mjs";
import { literalOf, writeBytes } from "./wasm-bytes.mjs";
import { orderFunctions } from "./wasm-order.mjs";

/**
 * For size in transit, measured compressed. What is not marked @inline and longer than this stays a function: code of few locals repeats itself
 * more. Common subexpressions compress better than the locals that would hold them.
 */
const INLINE = ["--always-inline-max-function-size", "6", "--one-caller-inline-max-function-size", "250"];
const SMALL = ["--low-memory-unused", ...INLINE, "-O2", "-Oz", "--converge", "--skip-pass=local-cse"];

/** For speed: where a few loops are all there is. */
const FAST = ["--low-memory-unused", "--always-inline-max-function-size", "100", "-O3"];

/** Features that every runtime has which we run in; the core's own switches (SIMD) are asc's. */
const FEATURES = ["simd", "bulk-memory", "sign-ext", "nontrapping-float-to-int", "mutable-globals"].map((feature) => `--enable-${feature}`);

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.chdir(root);

/** Installs what package-lock.json says. */
export async function dependencies() {
  await step("dependencies", "node_modules/.reprise-stamp", ["package-lock.json"], () => npm(["ci"], root));
}

/** Runs the npm that runs us, quietly. */
export function npm(args, cwd) {
  const all = [...args, "--no-audit", "--no-fund", "--loglevel=error"];
  if (process.env.npm_execpath !== undefined) execute(process.execPath, [process.env.npm_execpath, ...all], cwd);
  else execute(process.platform === "win32" ? "npm.cmd" : "npm", all, cwd);
}

/**
 * What is compiled, by target: core.wasm is what the package inlines, image.wasm what its snapshots do, windows.wasm what the replay buffers of reprise/agents draw with,
 * pfrl.wasm what those of reprise/pfrl do; sections.wasm sums files, tracking.wasm and journal.wasm tell what changed; kernels.wasm is what tests and benchmarks look at alone.
 */
const TARGETS = {
  release: { entry: "assembly/index.ts", file: "dist/core.wasm" },
  scalar: { entry: "assembly/index.ts", file: "dist/core.scalar.wasm" },
  debug: { entry: "assembly/index.ts", file: "dist/core.debug.wasm" },
  image: { entry: "assembly/image.ts", file: "dist/image.wasm" },
  windows: { entry: "assembly/windows.ts", config: "image", file: "dist/windows.wasm" },
  tracking: { entry: "assembly/index.ts", file: "dist/tracking.wasm" },
  journal: { entry: "assembly/journal.ts", file: "dist/journal.wasm" },
  sections: { entry: "assembly/sections.ts", optimize: FAST, file: "dist/sections.wasm" },
  pfrl: { entry: "assembly/pfrl.ts", config: "image", file: "dist/pfrl.wasm" },
  kernels: { entry: "assembly/kernels.ts", config: "image", file: "dist/kernels.wasm" },
};

/** What the package's bundles hold. */
export const BUNDLED = ["release", "image", "windows", "pfrl", "tracking", "journal", "sections"];

/** Compiles the given targets. */
export async function core(targets = BUNDLED) {
  const sources = [...files("assembly"), "asconfig.json", "package-lock.json", "build/steps.mjs", "build/wasm-bytes.mjs", "build/wasm-order.mjs"];
  for (const target of targets) {
    await step(`core (${target})`, `dist/.stamp-core-${target}`, sources, () => {
      const { entry, config = target, optimize = SMALL, file } = TARGETS[target];
      execute(process.execPath, ["node_modules/assemblyscript/bin/asc.js", entry, "--config", "asconfig.json", "--target", config, "-o", file]);
      if (target === "debug") return;
      execute(process.execPath, ["node_modules/binaryen/bin/wasm-opt", ...optimize, ...FEATURES, file, "-o", file]);
      orderFunctions(file, FEATURES);
      if (BUNDLED.includes(target)) writeBytes(file);
    });
  }
}

/** The modules as strings, which the sources import. */
const BYTES = ["core", "image", "windows", "pfrl", "sections", "tracking", "journal"].map((module) => `dist/${module}-bytes.js`);

const COMMON = { bundle: true, format: "esm", platform: "neutral", target: "es2022", charset: "utf8", logLevel: "warning" };

/** Packages that a user installs where a format needs them. */
const PEERS = ["h5wasm", "hyparquet", "hyparquet-compressors", "hyparquet-writer"];

/** Bundles the entries of the package, the core inlined in the main one. */
export async function bundle() {
  const sources = [...files("src"), ...BYTES, "build/steps.mjs", "build/short-names.mjs", "package.json"];
  await step("bundle", "dist/.stamp-bundle", sources, async () => {
    const { build } = await import("esbuild");
    const core = readFileSync("dist/core.wasm");
    const names = shortNamesOf(core);
    const short = { mangleProps: new RegExp(`^(${Object.keys(names).join("|")})$`), mangleCache: names };
    const packaged = { ...COMMON, ...short, minify: true, plugins: [placeholders, shared] };
    await build({ ...packaged, entryPoints: ["src/index.ts"], outfile: "dist/index.js" });
    await build({ ...packaged, entryPoints: ["src/store/snapshot/index.ts"], outfile: "dist/snapshot.js" });
    await build({ ...packaged, entryPoints: ["src/agents/index.ts"], outfile: "dist/agents.js" });
    await build({ ...packaged, entryPoints: ["src/pfrl/index.ts"], outfile: "dist/pfrl.js" });
    await build({ ...packaged, entryPoints: ["src/store/index.ts"], outfile: "dist/storage.js" });
    // Readers and writers of files come in pieces that are loaded when they are asked for; no name is shortened, for packages are among them.
    for (const file of readdirSync("dist")) if (/^rlds-.*\.js$/.test(file)) rmSync(`dist/${file}`);
    const pieces = {
      keepNames: true,
      entryNames: "[name]",
      chunkNames: "rlds-[name]-[hash]",
      outdir: "dist",
      splitting: true,
      external: PEERS,
      legalComments: "none",
      metafile: true,
    };
    const entryPoints = { rlds: "src/rlds/index.ts" };
    const readers = await build({ ...COMMON, ...pieces, minify: true, plugins: [shared], entryPoints, mainFields: ["module", "main"] });
    const ofNode = { platform: "node", target: "node20", banner: { js: PROGRAM }, legalComments: "none", metafile: true };
    const program = await build({ ...COMMON, ...ofNode, minify: true, plugins: [shared, siblings], entryPoints: ["src/cli/index.ts"], outfile: "dist/cli.js" });
    chmodSync("dist/cli.js", 0o755);
    writeFileSync("dist/third-party.txt", noticesOf([readers, program].flatMap(({ metafile }) => Object.keys(metafile.inputs))));
    inline("dist/index.js", { core: rename(core, names) });
    for (const [name, modules] of Object.entries({ snapshot: ["image"], agents: ["windows"], pfrl: ["pfrl"], storage: ["sections", "tracking", "journal"] }))
      inline(`dist/${name}.js`, Object.fromEntries(modules.map((module) => [module, readFileSync(`dist/${module}.wasm`)])));
  });
}

/** What stands before the command line's code: packages in it are of the old kind, and ask for Node's modules by `require`. */
const PROGRAM = `#!/usr/bin/env node
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);`;

/** The names and licences of the packages that some sources are of: they go where their code goes. */
function noticesOf(sources) {
  const folders = new Set(sources.map((file) => file.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0]).filter((folder) => folder !== undefined));
  const notices = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    return `${name} ${version} (${license})\n\n${file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `The readers and writers of files (rlds-*.js) and the command line (cli.js) hold code of these packages.\n\n${notices.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** Bundles the programs that tests run outside of the test runner: the digest beside the package's own bundles, the conformance cases with the sources. */
export async function programs() {
  const sources = [
    ...files("src"),
    ...["runtime", "conformance", "support"].flatMap((folder) => files(`test/${folder}`, ".ts")),
    ...BYTES,
    "dist/core.scalar.wasm",
    "build/steps.mjs",
  ];
  await step("programs", "dist/.stamp-programs", sources, async () => {
    const { build } = await import("esbuild");
    await build({ ...COMMON, entryPoints: ["test/runtime/program.ts"], outfile: "dist/digest.mjs", loader: { ".wasm": "binary" }, plugins: [packageItself] });
    await build({ ...COMMON, entryPoints: ["test/conformance/run.ts"], outfile: "dist/conformance.mjs", platform: "node", external: PEERS });
  });
}

/** A module's bytes come in after the bundling: a bundler would escape their characters anew, and worse. */
const placeholders = {
  name: "placeholders for WebAssembly",
  setup(build) {
    build.onLoad({ filter: /-bytes\.js$/ }, ({ path }) => ({ contents: `export default "${placeholder(basename(path, "-bytes.js"))}";` }));
  },
};
const placeholder = (module) => `@${module}@`;

/** The bytes go to the front: in the middle they would push what stands before them out of the 32 KiB that gzip looks back. */
function inline(bundle, modules) {
  let code = readFileSync(bundle, "utf8");
  let bytes = "";
  for (const [module, wasm] of Object.entries(modules)) {
    code = code.replace(`"${placeholder(module)}"`, `$${module}`);
    bytes += `const $${module}=${literalOf(wasm)};\n`;
  }
  writeFileSync(bundle, bytes + code);
}

/** Subpaths share the classes of the main entry and of the storage: they import them instead of bringing their own. */
const shared = {
  name: "shared entries",
  setup(build) {
    const entries = { [join(root, "src/index.ts")]: "./index.js", [join(root, "src/store/index.ts")]: "./storage.js" };
    build.onResolve({ filter: /\/index\.ts$/ }, ({ path, resolveDir, kind }) => {
      const entry = kind === "entry-point" ? undefined : entries[join(resolveDir, path)];
      return entry === undefined ? undefined : { path: entry, external: true };
    });
  },
};

/** The command line has the package's entries beside it. */
const siblings = {
  name: "entries beside the program",
  setup(build) {
    build.onResolve({ filter: /^\.\.\/(agents|rlds)\/index\.ts$/ }, ({ path }) => ({ path: `./${path.split("/")[1]}.js`, external: true }));
  },
};

/** A test of the bundles as they are published takes them as they are. */
const packageItself = {
  name: "the package itself",
  setup(build) {
    build.onResolve({ filter: /\/src\/index\.ts$/ }, () => ({ path: "./index.js", external: true }));
    build.onResolve({ filter: /\/src\/snapshot\/index\.ts$/ }, () => ({ path: "./snapshot.js", external: true }));
    build.onResolve({ filter: /\/src\/agents\/index\.ts$/ }, () => ({ path: "./agents.js", external: true }));
    build.onResolve({ filter: /\/src\/storage\/index\.ts$/ }, () => ({ path: "./storage.js", external: true }));
    build.onResolve({ filter: /\/src\/pfrl\/index\.ts$/ }, () => ({ path: "./pfrl.js", external: true }));
    build.onResolve({ filter: /\/src\/rlds\/index\.ts$/ }, () => ({ path: "./rlds.js", external: true }));
  },
};

/** The types of the main entry. */
export async function declarations() {
  await step("types", "dist/.stamp-types", [...files("src"), "tsconfig.json", "tsconfig.build.json"], () => {
    rmSync("dist/types", { recursive: true, force: true });
    execute(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"]);
  });
}

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

/** The files below a folder, in an order that is the same everywhere. */
export function files(folder, ending = "") {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith(ending) && statSync(file).isFile())
    .sort();
}

function execute(command, args, cwd = root) {
  const { status, error } = spawnSync(command, args, { stdio: ["inherit", 2, "inherit"], cwd });
  if (status === 0) return;
  console.error(`${command} ${args.join(" ")}: ${error?.message ?? `exit ${status}`}`);
  process.exit(status ?? 1);
}
