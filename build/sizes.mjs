// Measures the bytes that a page loads for the main entry: the published files, and the same files minified by a program's own bundler.
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { manifestIn, subpaths } from "./manifest.mjs";

const NOW = /^(?:import|export)\b[^;"]*"(\.[^"]+)";$/gm;
const NOW_OR_LATER = /^(?:import|export)\b[^;"]*"(\.[^"]+)";$|\bimport\("(\.[^"]+)"\)/gm;

/** Returns a file of a build, and the files that are loaded with it, without duplicates. */
export const loadedWith = (dist, file) => reached(dist, file, NOW);

/** Like `loadedWith`, with the files that are loaded when they are used. */
export const loadedWithOrAfter = (dist, file) => reached(dist, file, NOW_OR_LATER);

function reached(dist, file, imports, found = new Set([file])) {
  for (const [, now, later] of readFileSync(join(dist, file), "utf8").matchAll(imports)) {
    const other = join(dirname(file), now ?? later);
    if (!found.has(other)) reached(dist, other, imports, found.add(other));
  }
  return [...found];
}

/** Returns the name of a minified file, and the names of the files that are loaded with it. @param app the contents of all files by name */
function loadedBy(app, file, found = new Set([file])) {
  for (const [, name] of app[file].toString().matchAll(/(?:from|import)"\.\/([^"]+)"/g)) if (!found.has(name)) loadedBy(app, name, found.add(name));
  return [...found];
}

/** Returns the bytes of an entry and of its dependencies, with each file compressed separately, as a server sends it. */
function readable(dist, entry) {
  return loadedWith(dist, entry).reduce((sum, file) => sum + gzip(readFileSync(join(dist, file))), 0);
}

const gzip = (bytes) => gzipSync(bytes, { level: 9 }).length;

/** Returns the sizes of the main entry in a build, published and minified, and of the core, in bytes. */
export async function sizes(dist = "dist") {
  const { build } = await import("esbuild");
  const bundled = { bundle: true, splitting: true, format: "esm", target: "es2022", outdir: "app", write: false };
  const { outputFiles } = await build({ ...bundled, minify: true, legalComments: "none", entryPoints: [join(dist, "index.js")], chunkNames: "[hash]" });
  const app = Object.fromEntries(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
  const core = readFileSync(join(dist, "core.wasm"));
  return {
    readable: readable(dist, "index.js"),
    minified: loadedBy(app, "index.js").reduce((sum, file) => sum + gzip(app[file]), 0),
    wasm: core.length,
    wasmGzip: gzip(core),
  };
}

/** Returns lines of text with the sizes of the main entry, of the other subpaths, and of the WebAssembly modules. */
export async function report() {
  const { readable: main, minified, wasm, wasmGzip } = await sizes();
  const kb = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;
  const others = subpaths().filter(({ path }) => path !== ".");
  const each = others.map(({ path, file }) => `${path.slice(2)} ${kb(readable("dist", basename(file)))}`);
  // A build may have created only some of the files.
  const modules = Object.values(manifestIn().exports).flatMap(({ default: file }) => (file?.endsWith(".wasm") && existsSync(file) ? [file] : []));
  const made = modules.map((file) => `${basename(file)} ${kb(statSync(file).size)}, ${kb(gzip(readFileSync(file)))} gzipped`);
  return [
    `main entry: ${kb(main)} gzipped as it is, ${kb(minified)} minified; of this core.wasm ${kb(wasm)}, ${kb(wasmGzip)} gzipped`,
    `subpaths, with the chunks that they load immediately: ${each.join(", ")}`,
    `WebAssembly by itself: ${made.join("; ")}`,
  ].join("\n");
}
