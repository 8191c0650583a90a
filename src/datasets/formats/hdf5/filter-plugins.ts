/** Filters that h5wasm does not have itself: plugins of HDF5, which a user installs as the package h5wasm-plugins. */
import { unsupportedFile } from "../../model/rlds-error.ts";
import { sourceOf } from "../sources/open-source.ts";
import type { Library } from "./h5wasm.ts";

/** The plugins that are tested, by the numbers that HDF5 registered for their filters. */
const PLUGINS: ReadonlyMap<number, string> = new Map([
  [307, "bz2"],
  [32000, "lzf"],
  [32001, "blosc"],
  [32004, "lz4"],
  [32008, "bshuf"],
  [32013, "zfp"],
  [32015, "zstd"],
  [32026, "blosc2"],
]);

/** The other way. */
const OTHERWISE = 'or write the file again with gzip, as h5py does with compression="gzip"';
/** Each plugin is a module of WebAssembly, which begins so. */
const MAGIC = [0, 0x61, 0x73, 0x6d];

/** Plugins that were found, for the next instance of the library. */
const found = new Map<string, Uint8Array>();

export function pluginOf(filter: number): string | undefined {
  return PLUGINS.get(filter);
}

/** Puts a plugin where the library looks for it, unless it is there. @param subject what needs it, as a message begins @throws RldsError UNSUPPORTED where it is not to be had */
export async function installPlugin(library: Library, plugin: string, subject: string): Promise<void> {
  const { FS } = library;
  const name = `libH5Z${plugin}.so`;
  const folders = library.get_plugin_search_paths();
  const path = folders.map((folder) => `${folder}/${name}`).find((one) => FS.analyzePath(one).exists);
  if (path !== undefined) {
    // A program put it there, which knows nothing of the instance that comes after a trap.
    if (!found.has(plugin)) found.set(plugin, FS.readFile(path));
    return;
  }
  const bytes = found.get(plugin) ?? (await packageFile(`plugins/${name}`, subject));
  found.set(plugin, bytes);
  const folder = folders[0] as string;
  FS.mkdirTree(folder);
  FS.writeFile(`${folder}/${name}`, bytes);
}

async function packageFile(path: string, subject: string): Promise<Uint8Array> {
  const base = await packageBase(subject);
  const url = new URL(path, `${base}/`);
  try {
    const { file } = await sourceOf(url);
    if (file === undefined) throw new Error("it is a folder");
    try {
      const bytes = await file.read(0, file.size);
      // A server may answer with a page for what it does not have.
      if (!MAGIC.every((byte, i) => bytes[i] === byte)) throw new Error("it is not WebAssembly");
      return bytes;
    } finally {
      await file.close();
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unsupportedFile(
      {},
      `${subject}, and ${url} cannot be loaded (${reason}): serve it, put it into the files of h5wasm (docs/reference/formats.md), ${OTHERWISE}`,
      cause,
    );
  }
}

/** Where the files of the package are. */
async function packageBase(subject: string): Promise<string> {
  try {
    const { base_url: base } = await import("h5wasm-plugins");
    // What Next's server gives for a package that is missing.
    if (typeof base !== "string") throw new TypeError("h5wasm-plugins has no exports");
    return base;
  } catch (cause) {
    throw unsupportedFile(
      {},
      `${subject}, which requires the package h5wasm-plugins. Run npm install --legacy-peer-deps h5wasm h5wasm-plugins, ${OTHERWISE}`,
      cause,
    );
  }
}
