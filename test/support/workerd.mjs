// Runs workerd like wrangler: one JavaScript module, and WebAssembly modules, because workerd compiles nothing at run time. Durable Objects have SQLite storage
// in a folder, which remains when the process ends.
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Bundles a program into a folder. Missing packages stay as imports; workerd reports them when they are used.
 * @param {string} entry its file @param {string} folder the target of `worker.js` and the WebAssembly that it imports
 * @returns {Promise<string[]>} names of the WebAssembly modules
 */
export async function bundleWorker(entry, folder) {
  const { build } = await import("esbuild");
  const modules = new Set();
  mkdirSync(folder, { recursive: true });
  const wasm = {
    name: "WebAssembly beside the bundle",
    setup({ onResolve, resolve }) {
      onResolve({ filter: /\.wasm$/ }, async ({ path: asked, resolveDir, kind, pluginData }) => {
        if (pluginData === "found") return undefined;
        const { path } = await resolve(asked, { resolveDir, kind, pluginData: "found" });
        copyFileSync(path, join(folder, basename(path)));
        modules.add(basename(path));
        return { path: `./${basename(path)}`, external: true };
      });
    },
  };
  const options = { entryPoints: [entry], outfile: join(folder, "worker.js"), bundle: true, format: "esm", logLevel: "error", external: ["cloudflare:*"] };
  await build({ ...options, conditions: ["workerd", "worker", "browser"], plugins: [wasm] });
  return [...modules];
}

/**
 * Serves a bundled folder.
 * @param {string} program the path of workerd
 * @param {string} folder
 * @param {{ modules: readonly string[], flags?: readonly string[], objects?: { readonly [binding: string]: string } }} options `objects`: classes of Durable
 * Objects, by their names in the worker's `env`
 * @returns {Promise<{ address: string, process: import("node:child_process").ChildProcess, end(signal?: NodeJS.Signals): Promise<void> }>} once it listens
 */
export async function serveWorker(program, folder, { modules, flags = [], objects = {} }) {
  mkdirSync(join(folder, "disk"), { recursive: true });
  writeFileSync(join(folder, "config.capnp"), configOf(modules, flags, objects));
  const args = ["serve", "config.capnp", "--socket-addr", "http=127.0.0.1:0", "--directory-path", `disk=${join(folder, "disk")}`, "--control-fd", "3"];
  const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "inherit", "inherit", "pipe"] });
  running.add(child);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  child.on("exit", () => running.delete(child));
  let said = "";
  const port = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`workerd ended with ${code}`)));
    child.stdio[3].on("data", (bytes) => {
      said += bytes;
      const found = /"event":"listen".*"port":(\d+)/.exec(said);
      if (found !== null) resolve(Number(found[1]));
    });
  });
  return {
    address: `http://127.0.0.1:${port}`,
    process: child,
    async end(signal = "SIGKILL") {
      child.kill(signal);
      await ended;
    },
  };
}

function configOf(modules, flags, objects) {
  const list = [`(name = "worker.js", esModule = embed "worker.js")`, ...modules.map((name) => `(name = "${name}", wasm = embed "${name}")`)];
  const classes = Object.values(objects);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "disk", disk = (path = "disk", writable = true))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [${list.join(", ")}],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ${JSON.stringify(flags)},
  durableObjectNamespaces = [${classes.map((name) => `(className = "${name}", uniqueKey = "${name}", enableSql = true)`).join(", ")}],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [${Object.entries(objects)
    .map(([binding, name]) => `(name = "${binding}", durableObjectNamespace = "${name}")`)
    .join(", ")}],
);
`;
}
