// Bundlers for pages: what they make runs in Chromium, where the optional packages are there and where they are not. A bundler that says an error, or warns of ours, fails.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { serving } from "../servers.mjs";
import { run } from "../workshop.mjs";
import { MAIN, page } from "./pages.mjs";

const FILES = { "main.js": MAIN, "index.html": page("./main.js"), "built/index.html": page("./main.js") };

export async function rows(workshop, browsers) {
  const tool = async (name, path) => import(pathToFileURL(workshop.tool(name, path)).href);
  const ways = {
    esbuild: { name: "esbuild", make: esbuilt },
    Rollup: { name: "rollup", make: (folder, peers) => rolledUp(tool, folder, peers) },
    webpack: { name: "webpack", make: (folder, peers) => packed(workshop, folder, peers) },
    Vite: { name: "vite", make: (folder) => run(folder, process.execPath, [workshop.tool("vite/bin/vite.js"), "build", "--outDir", "built", "--emptyOutDir"]) },
  };
  const all = Object.entries(ways).flatMap(([where, { name, make }]) =>
    [false, true].map((peers) => ({
      where: peers ? `${where}, with the optional packages` : where,
      version: workshop.version(name),
      peers,
      async suite() {
        const folder = workshop.project(name, { peers, files: FILES });
        await make(folder, peers);
        return browsers.lines("chromium", join(folder, "built"));
      },
    })),
  );
  const served = [false, true].map((peers) => ({
    where: peers ? "Vite's own server, with the optional packages" : "Vite's own server",
    version: workshop.version("vite"),
    peers,
    suite: () => dev(workshop, browsers, workshop.project("vite-dev", { peers, files: FILES })),
  }));
  return [...all, ...served];
}

async function esbuilt(folder) {
  const { build } = await import("esbuild");
  const options = { absWorkingDir: folder, entryPoints: ["main.js"], outdir: "built", bundle: true, splitting: true, format: "esm", logLevel: "silent" };
  clean((await build(options)).warnings.map(({ text }) => text));
}

async function rolledUp(tool, folder, peers) {
  const { rollup } = await tool("rollup", "dist/es/rollup.js");
  const { nodeResolve } = await tool("@rollup/plugin-node-resolve", "dist/es/index.js");
  const warnings = [];
  // What is not there stays an import, which fails where it is asked for; Rollup says so.
  const onwarn = (warning) => (peers || warning.code !== "UNRESOLVED_IMPORT" ? warnings.push(warning.message) : undefined);
  const bundle = await rollup({ input: join(folder, "main.js"), plugins: [nodeResolve({ browser: true })], onwarn });
  await bundle.write({ dir: join(folder, "built"), format: "es" });
  await bundle.close();
  clean(warnings.filter((text) => /reprise/.test(text)));
}

const WEBPACK = (tool, peers) => `import webpack from ${JSON.stringify(tool)};
webpack({ mode: "production", entry: "./main.js", output: { path: import.meta.dirname + "/built", filename: "main.js" } }, (error, stats) => {
  const { errors, warnings } = stats?.toJson() ?? { errors: [error], warnings: [] };
  const ours = warnings.filter(({ message }) => ${peers} || !/Can't resolve '(h5wasm|hyparquet)/.test(message)).filter(({ message }) => !/size limit|performance/.test(message));
  for (const { message, moduleName } of [...errors, ...ours]) console.error(moduleName, message);
  process.exitCode = errors.length + ours.length === 0 ? 0 : 1;
});
`;

function packed(workshop, folder, peers) {
  writeFileSync(join(folder, "webpack.mjs"), WEBPACK(pathToFileURL(workshop.tool("webpack/lib/index.js")).href, peers));
  return run(folder, process.execPath, ["webpack.mjs"]);
}

/** @throws Error with what a bundler had to say */
function clean(warnings) {
  if (warnings.length > 0) throw new Error(warnings.join("\n"));
}

async function dev(workshop, browsers, folder) {
  const { address, end } = await serving(process.execPath, [workshop.tool("vite/bin/vite.js"), "--host", "127.0.0.1", "--port", "0"], { cwd: folder });
  try {
    return await browsers.visit("chromium", `${address}/`);
  } finally {
    end();
  }
}
