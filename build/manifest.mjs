// Reads package.json: the subpaths, and the packages that a user may install in addition.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root } from "./step.mjs";

/** package.json of a folder: of this project, or of a package that was installed. */
export const manifestIn = (folder = root) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/**
 * The subpaths that are JavaScript, in package.json's order.
 * @returns of each its `path` ("./agents"), the `name` that a user imports, its `file`, its `entry` (the file's name), its `source`, and whether it has a file for `workerd`
 */
export function subpaths({ name, exports } = manifestIn()) {
  const scripts = Object.entries(exports).filter(([, target]) => target.default?.endsWith(".js"));
  return scripts.map(([path, { types, workerd, default: file }]) => ({
    path,
    name: `${name}${path.slice(1)}`,
    file: file.slice(2),
    entry: basename(file, ".js"),
    source: types.replace("./dist/types/", "src/").replace(/\.d\.ts$/, ".ts"),
    workerd: workerd !== undefined,
  }));
}

/** The optional packages that the sources import. The other peers are given to an adapter by the user. */
export const PEERS = ["h5wasm", "h5wasm-plugins", "hyparquet", "hyparquet-compressors", "hyparquet-writer", "zarrita"];
