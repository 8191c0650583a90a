// Reads package.json: the subpaths, and the optional packages that a user may install.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root } from "./step.mjs";

/** Returns package.json of a folder: of this project, or of an installed package. */
export const manifestIn = (folder = root) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/**
 * Returns the JavaScript subpaths in the order of package.json.
 * @returns for each its `path` ("./agents"), the `name` that a user imports, its `file`, its `entry` (the name of the file), its `source`, and whether it has a
 * file for `workerd`
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

/** The optional packages that the sources import. A user passes the other peers to an adapter. */
export const PEERS = ["h5wasm", "h5wasm-plugins", "hyparquet", "hyparquet-compressors", "hyparquet-writer", "zarrita"];
