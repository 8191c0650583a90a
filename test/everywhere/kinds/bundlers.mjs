// Runs bundlers for pages: their output runs in Chromium, with and without the optional packages. A bundler fails if it reports an error, or a warning about
// our package.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { serving } from "../servers.mjs";
import { clean, warningsIn } from "../warnings.mjs";
import { run } from "../workshop.mjs";
import { main, page } from "./pages.mjs";

const files = (short) => ({ "main.js": main(short), "index.html": page("./main.js"), "built/index.html": page("./main.js") });

export async function rows(workshop, browsers) {
  const tool = async (name, path) => import(pathToFileURL(workshop.tool(name, path)).href);
  const ways = {
    esbuild: { name: "esbuild", make: esbuilt },
    Rollup: { name: "rollup", make: (folder, peers) => rolledUp(tool, folder, peers) },
    webpack: { name: "webpack", make: (folder, peers) => packed(workshop, folder, peers) },
    Vite: { name: "vite", make: (folder, peers) => built(workshop, folder, peers) },
  };
  const all = Object.entries(ways).flatMap(([where, { name, make }]) =>
    [false, true].map((peers) => ({
      where: peers ? `${where}, with the optional packages` : where,
      version: name === "esbuild" ? esbuild.version : workshop.version(name),
      peers,
      short: peers,
      async suite(short) {
        const folder = workshop.project(name, { peers, files: files(short) });
        await make(folder, peers);
        return browsers.lines("chromium", join(folder, "built"));
      },
    })),
  );
  const served = [false, true].map((peers) => ({
    where: peers ? "Vite's own server, with the optional packages" : "Vite's own server",
    version: workshop.version("vite"),
    peers,
    // `Vite` has the same engine and bundler, so this suite is short.
    short: true,
    suite: (short) => dev(workshop, browsers, peers, short),
  }));
  return [...all, ...served];
}

async function esbuilt(folder) {
  const options = { absWorkingDir: folder, entryPoints: ["main.js"], outdir: "built", bundle: true, splitting: true, format: "esm", logLevel: "silent" };
  const { warnings } = await esbuild.build(options);
  clean(
    warnings.map(({ text }) => text),
    true,
  );
}

async function rolledUp(tool, folder, peers) {
  const { rollup } = await tool("rollup", "dist/es/rollup.js");
  const { nodeResolve } = await tool("@rollup/plugin-node-resolve", "dist/es/index.js");
  const warnings = [];
  const onwarn = ({ message }) => warnings.push(message);
  const bundle = await rollup({ input: join(folder, "main.js"), plugins: [nodeResolve({ browser: true })], onwarn });
  await bundle.write({ dir: join(folder, "built"), format: "es" });
  await bundle.close();
  // Warnings about the code of optional packages are not our responsibility.
  clean(
    warnings.filter((text) => /reprise/.test(text)),
    peers,
  );
}

const WEBPACK = (tool) => `import webpack from ${JSON.stringify(tool)};
const output = { path: import.meta.dirname + "/built", filename: "main.js" };
webpack({ mode: "production", performance: { hints: false }, entry: "./main.js", output }, (error, stats) => {
  const { errors, warnings } = stats?.toJson() ?? { errors: [error], warnings: [] };
  for (const { moduleName, message } of errors) console.error(moduleName, message);
  process.exitCode = errors.length === 0 ? 0 : 1;
  console.log(JSON.stringify(warnings.map(({ moduleName, message }) => moduleName + ": " + message)));
});
`;

async function packed(workshop, folder, peers) {
  writeFileSync(join(folder, "webpack.mjs"), WEBPACK(pathToFileURL(workshop.tool("webpack/lib/index.js")).href));
  clean(JSON.parse(await run(folder, process.execPath, ["webpack.mjs"])), peers);
}

async function built(workshop, folder, peers) {
  const args = [workshop.tool("vite/bin/vite.js"), "build", "--outDir", "built", "--emptyOutDir"];
  clean(warningsIn(await run(folder, process.execPath, args, { what: "all" })), peers);
}

async function dev(workshop, browsers, peers, short) {
  const folder = workshop.project("vite-dev", { peers, files: files(short) });
  const args = [workshop.tool("vite/bin/vite.js"), "--host", "127.0.0.1", "--port", "0"];
  const server = await serving(process.execPath, args, { cwd: folder });
  try {
    const lines = await browsers.visit("chromium", `${server.address}/`);
    clean(warningsIn(server.said()), peers);
    return lines;
  } finally {
    server.end();
  }
}
