// Creates the projects outside this repository, so that none of its modules can be resolved from there. Tools are installed once; each run has its own package
// and projects.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { arch, platform, tmpdir, userInfo } from "node:os";
import { basename, join } from "node:path";
import { manifestIn, PEERS } from "../../build/manifest.mjs";
import { addressOf, stage } from "../../build/release.mjs";
import { root } from "../../build/step.mjs";

const { devDependencies } = manifestIn();
const { reprise, ...ENGINES } = manifestIn(join(root, "examples/engines")).dependencies;

/** The tested versions of Node in addition to the current one, by the names of their tools. */
export const NODES = { "node-old": "20.8.0", "node-22": "22.23.3", "node-24": "24.21.0" };

const TOOLS = {
  ...ENGINES,
  ...Object.fromEntries(Object.entries(NODES).map(([name, version]) => [name, `npm:node-${platform()}-${arch()}@${version}`])),
  "@rollup/plugin-node-resolve": "16.0.3",
  next: "16.4.6",
  react: "19.3.1",
  "react-dom": "19.3.1",
  rollup: "4.68.7",
  vite: "8.3.8",
  webpack: "5.112.2",
  workerd: manifestIn(join(root, "build/runtimes")).dependencies.workerd,
};

/** The versions of the optional packages in the tests. */
const OPTIONAL = Object.fromEntries(PEERS.map((name) => [name, devDependencies[name]]));
/** `h5wasm-plugins` depends on an older h5wasm, so npm must be told to use the version in OPTIONAL. */
const OVERRIDES = { "h5wasm-plugins": { h5wasm: OPTIONAL.h5wasm } };

/** The content of the folder `files` in projects of hosts with files. */
const DATA = { cartpole: "tfds/cartpole/1.0.0", "plain.parquet": "extra/plain.parquet", "tail.hdf5": "extra/d4rl/tail.hdf5" };

const ADDRESS = "https://host.example/owner/reprise";

export class Workshop {
  /** The folder of the installed tools. Runs with the same tools and versions share it. */
  folder = join(tmpdir(), `reprise-everywhere-${userInfo().username}-${hashOf({ TOOLS, OPTIONAL })}`);
  /** The folders of this run, by whether the optional packages are installed above them. */
  #runs;

  /** Installs missing tools and packs the package. */
  async ready() {
    if (!existsSync(this.folder)) await this.#install();
    const bare = mkdtempSync(join(this.folder, "bare/run-"));
    this.#runs = { bare, peers: join(this.folder, "peers", basename(bare)) };
    process.on("exit", () => {
      for (const folder of Object.values(this.#runs)) rmSync(folder, { recursive: true, force: true });
    });
    await this.#pack(join(bare, "packed"));
    return this;
  }

  /** Returns the path of a file in a tool. */
  tool(...path) {
    return join(this.folder, "node_modules", ...path);
  }

  /** Returns the version of a tool. */
  version(name) {
    return manifestIn(this.tool(name)).version;
  }

  /** Creates an empty project with this package, the given files and datasets, and optionally with the optional packages above it. */
  project(name, { peers = false, data = false, files = {} } = {}) {
    const folder = join(peers ? this.#runs.peers : this.#runs.bare, name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, "node_modules"), { recursive: true });
    cpSync(join(this.#runs.bare, "packed/node_modules/reprise"), join(folder, "node_modules/reprise"), { recursive: true });
    cpSync(join(root, "dist/suite.mjs"), join(folder, "suite.mjs"));
    if (data) for (const [to, from] of Object.entries(DATA)) cpSync(join(root, "test/data", from), join(folder, "files", to), { recursive: true });
    const all = { "package.json": JSON.stringify({ name, private: true, type: "module" }), ...files };
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return folder;
  }

  /** Installs under a temporary name and then renames the folder, because two runs may install at the same time. */
  async #install() {
    const folder = mkdtempSync(`${this.folder}-`);
    mkdirSync(join(folder, "bare"));
    for (const [path, manifest] of [
      [folder, { dependencies: TOOLS }],
      [join(folder, "peers"), { dependencies: OPTIONAL, overrides: OVERRIDES }],
    ]) {
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, "package.json"), JSON.stringify({ private: true, ...manifest }));
      await run(path, "npm", ["install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]);
    }
    if (existsSync(this.folder)) rmSync(folder, { recursive: true });
    else renameSync(folder, this.folder);
  }

  /** Packs the package as it is published. */
  async #pack(folder) {
    stage(join(folder, "staged"), addressOf(ADDRESS));
    const [{ filename }] = JSON.parse(await run(join(folder, "staged"), "npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]));
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    await run(folder, "npm", ["install", "--offline", "--no-package-lock", "--no-audit", "--no-fund", `./${filename}`]);
  }
}

const hashOf = (value) => createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 8);

/**
 * Returns the output of a command, including its errors if `what` requests them. @throws Error with all output if the command fails, or succeeds although it
 * should fail
 */
export async function run(cwd, command, args, { env = {}, ms = 600_000, fails = false, what = "stdout" } = {}) {
  const options = { cwd, timeout: ms, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 };
  const { error, ...said } = await new Promise((resolve) =>
    execFile(command, args, options, (error, stdout, stderr) => resolve({ error, stdout, stderr, all: stdout + stderr })),
  );
  if ((error !== null) !== fails) throw new Error(`${command} ${args.join(" ")}: ${error?.message ?? "did not fail"}\n${said.all}`);
  return said[what];
}
