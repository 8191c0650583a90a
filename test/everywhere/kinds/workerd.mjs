// workerd, as wrangler feeds it: one module of JavaScript, and modules of WebAssembly, since nothing is compiled at run time there.
import { copyFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { started } from "../servers.mjs";
import { run } from "../workshop.mjs";

const WORKER = `import embed from "reprise/embed.wasm";
import { answered } from "./suite.mjs";
export default { fetch: () => answered({ embed }) };
`;

const MODULES = ["core.wasm", "embed.wasm"].map((name) => `(name = "${name}", wasm = embed "${name}")`).join(", ");

const config = (port, flags) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.bundled.js"), ${MODULES}],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ${JSON.stringify(flags)},
);
`;

export async function rows(workshop) {
  const program = workshop.tool(".bin/workerd");
  const version = (await run(".", program, ["--version"])).trim().replace("workerd ", "");
  const of = (where, flags) => ({
    where,
    version,
    async suite() {
      const folder = workshop.project("workerd", { files: { "worker.js": WORKER } });
      await bundle(folder);
      const port = await free();
      writeFileSync(join(folder, "config.capnp"), config(port, flags));
      const child = started(program, ["serve", "config.capnp"], { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
      try {
        return await answer(`http://127.0.0.1:${port}/`, child);
      } finally {
        child.kill();
      }
    },
  });
  return [of("workerd", []), of("workerd with nodejs_compat", ["nodejs_compat"])];
}

/** Packages that are missing stay as they are: workerd says so when they are asked for. */
async function bundle(folder) {
  const { build } = await import("esbuild");
  const wasm = {
    name: "WebAssembly beside the bundle",
    setup({ onResolve, resolve }) {
      onResolve({ filter: /\.wasm$/ }, async ({ path: asked, resolveDir, kind, pluginData }) => {
        if (pluginData === "found") return undefined;
        const { path } = await resolve(asked, { resolveDir, kind, pluginData: "found" });
        copyFileSync(path, join(folder, basename(path)));
        return { path: `./${basename(path)}`, external: true };
      });
    },
  };
  const options = { absWorkingDir: folder, entryPoints: ["worker.js"], outfile: "worker.bundled.js", bundle: true, format: "esm", logLevel: "error" };
  await build({ ...options, conditions: ["workerd", "worker", "browser"], plugins: [wasm] });
}

async function free() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The lines, once it listens. */
async function answer(address, child) {
  for (let tries = 0; ; tries++) {
    try {
      const lines = await (await fetch(address)).json();
      const failed = lines.find((line) => line.startsWith("failed: "));
      if (failed !== undefined) throw new RangeError(failed);
      return lines;
    } catch (error) {
      if (error instanceof RangeError || tries === 100 || child.exitCode !== null) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
