/** Loads compression filters that h5wasm does not contain. They are HDF5 plugins from the package h5wasm-plugins, which the user installs. */
import { unsupportedFile } from "../../model/rlds-error.ts";
import { sourceOf } from "../sources/open-source.ts";
import type { Library } from "./h5wasm.ts";

/** The names of the tested plugins, by the registered number of their filter. */
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

/** The remedy in messages for users who do not install a plugin. */
const OTHERWISE = 'or write the file again with gzip, as h5py does with compression="gzip"';
/** The first bytes of a plugin. Each plugin is a WebAssembly module. */
const MAGIC = [0, 0x61, 0x73, 0x6d];

/** The bytes of the plugins that were loaded so far, by name. They are installed again if a new instance replaces a broken instance of the library. */
const found = new Map<string, Uint8Array>();

/** Returns the name of the plugin for a filter number, or undefined if there is no tested plugin. */
export function pluginOf(filter: number): string | undefined {
  return PLUGINS.get(filter);
}

/**
 * Installs a plugin in the folder that the library searches for plugins, unless the folder already contains the plugin.
 * @param subject the beginning of messages, which names the part of the file that needs the plugin
 * @throws RldsError UNSUPPORTED if the plugin is not available
 */
export async function installPlugin(library: Library, plugin: string, subject: string): Promise<void> {
  const { FS } = library;
  const name = `libH5Z${plugin}.so`;
  const folders = library.get_plugin_search_paths();
  const path = folders.map((folder) => `${folder}/${name}`).find((one) => FS.analyzePath(one).exists);
  if (path !== undefined) {
    // The program may have installed the plugin itself. Its bytes are kept for a later instance of the library, which replaces this instance if a trap breaks
    // it.
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
    if (file === undefined) throw new Error("the URL refers to a folder");
    try {
      const bytes = await file.read(0, file.size);
      // For a missing file, a server may respond with an HTML page.
      if (!MAGIC.every((byte, i) => bytes[i] === byte)) throw new Error("the file is not WebAssembly");
      return bytes;
    } finally {
      await file.close();
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unsupportedFile(
      {},
      `${subject}, but ${url} cannot be loaded: ${reason}. Serve the plugin at that URL, add it to the files of h5wasm (see docs/reference/formats.md), ${OTHERWISE}`,
      cause,
    );
  }
}

/** Returns the URL of the folder of h5wasm-plugins. @throws RldsError UNSUPPORTED if the package is not installed */
async function packageBase(subject: string): Promise<string> {
  try {
    const { base_url: base } = await import("h5wasm-plugins");
    // Next.js resolves a missing package to a value that is not a string.
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
