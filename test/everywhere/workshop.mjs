// Where the projects are made: outside of this one, so that nothing of it is found from there. Tools are installed once, the package is packed anew each time.
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { arch, platform, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { root } from "../../build/step.mjs";

const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Versions of Node beside the one that runs this, by the names of their tools. */
export const NODES = { "node-old": "20.8.0", "node-22": "22.23.3", "node-24": "24.21.0" };

const TOOLS = {
  "@babylonjs/core": "9.34.0",
  ...Object.fromEntries(Object.entries(NODES).map(([name, version]) => [name, `npm:node-${platform()}-${arch()}@${version}`])),
  "@rollup/plugin-node-resolve": "16.0.3",
  bun: "1.4.5",
  deno: "2.9.6",
  esbuild: devDependencies.esbuild,
  next: "16.4.6",
  phaser: "4.2.1",
  react: "19.3.1",
  "react-dom": "19.3.1",
  rollup: "4.68.7",
  vite: "8.3.8",
  webpack: "5.112.2",
  workerd: "1.20261117.1",
};

/** Packages that a user may have beside this one. */
const PEERS = Object.fromEntries(["h5wasm", "hyparquet", "hyparquet-compressors", "hyparquet-writer"].map((name) => [name, devDependencies[name]]));

export class Workshop {
  folder = join(tmpdir(), `reprise-everywhere-${userInfo().username}`);

  /** Installs what is missing, and packs. */
  async ready() {
    await this.#install(this.folder, TOOLS);
    await this.#install(join(this.folder, "peers"), PEERS);
    await this.#pack();
    return this;
  }

  /** The file of a tool. */
  tool(...path) {
    return join(this.folder, "node_modules", ...path);
  }

  /** The version of a tool. */
  version(name) {
    return JSON.parse(readFileSync(this.tool(name, "package.json"), "utf8")).version;
  }

  /** An empty project with this package, and the peers beside it or not; what it is given as files. */
  project(name, { peers = false, files = {} } = {}) {
    const folder = join(this.folder, peers ? "peers" : "bare", name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(folder, "node_modules"), { recursive: true });
    cpSync(join(this.folder, "packed/node_modules/reprise"), join(folder, "node_modules/reprise"), { recursive: true });
    cpSync(join(root, "dist/suite.mjs"), join(folder, "suite.mjs"));
    const all = { "package.json": JSON.stringify({ name, private: true, type: "module" }), ...files };
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return folder;
  }

  async #install(folder, dependencies) {
    const manifest = JSON.stringify({ private: true, dependencies });
    const stamp = join(folder, "installed");
    if (existsSync(stamp) && readFileSync(stamp, "utf8") === manifest) return;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), manifest);
    await run(folder, "npm", ["install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]);
    writeFileSync(stamp, manifest);
  }

  async #pack() {
    const folder = join(this.folder, "packed");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const [{ filename }] = JSON.parse(await run(root, "npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]));
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    await run(folder, "npm", ["install", "--offline", "--no-package-lock", "--no-audit", "--no-fund", `./${filename}`]);
  }
}

/** What a command printed; with `fails` its errors. @throws Error with all that it said, where it failed */
export async function run(cwd, command, args, { env = {}, ms = 300_000, fails = false } = {}) {
  const options = { cwd, timeout: ms, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 };
  const { error, stdout, stderr } = await new Promise((resolve) =>
    execFile(command, args, options, (error, stdout, stderr) => resolve({ error, stdout, stderr })),
  );
  if ((error !== null) !== fails) throw new Error(`${command} ${args.join(" ")}: ${error?.message ?? "did not fail"}\n${stdout}${stderr}`);
  return fails ? stderr : stdout;
}
