/** The HDF5 library: h5wasm, which a user installs where HDF5 files are read. */
import type { Module } from "h5wasm";
import { unsupportedFile } from "../../model/rlds-error.ts";
import type { H5wasm } from "./package.ts";

/** The part of Emscripten's file system that we use. */
export interface Files {
  createFile(parent: string, name: string, properties: object, canRead: boolean, canWrite: boolean): FileNode;
  createDevice(parent: string, name: string, input: undefined, output: (byte: number) => void): unknown;
  open(path: string, flags: string): { readonly fd: number };
  close(stream: unknown): void;
  getStream(fd: number): unknown;
  unlink(path: string): void;
  analyzePath(path: string): { readonly exists: boolean };
  mkdirTree(path: string): void;
  readFile(path: string): Uint8Array;
  writeFile(path: string, bytes: Uint8Array): void;
}

/** A path with a number that nobody has: another copy of this package may use the same library. */
export function freePath(files: Files, prefix: string, suffix = ""): string {
  for (let n = 0; ; n++) if (!files.analyzePath(`${prefix}${n}${suffix}`).exists) return `${prefix}${n}${suffix}`;
}

export interface FileNode {
  usedBytes: number;
  contents: Uint8Array | null;
  stream_ops: object;
}

/** What the module has beside its declared types. */
export type Library = Omit<typeof Module, "FS"> & { readonly FS: Files; _malloc(bytes: number): number; _free(at: number): void; readonly HEAPU8: Uint8Array };

/** One instance of the library. A trap in it leaves it broken: then another one is made. */
export interface Instance {
  readonly library: Library;
  /** What broke it. */
  cause?: unknown;
  /** How often it threw its own errors, each of which leaves a little of its stack behind. */
  errorCount: number;
  /** What HDF5 said of its last failure; the innermost line. */
  lastMessage(): string;
}

let current: Promise<Instance> | undefined;
let instanceCount = 0;

/** The instance that all files share, or a new one where that is broken. @param customPackage the package, if it is not found by its name @throws RldsError UNSUPPORTED where the package is not there, or cannot be had anew */
export function h5wasm(customPackage?: H5wasm): Promise<Instance> {
  const previous: Promise<Instance | undefined> = current?.catch(() => undefined) ?? Promise.resolve(undefined);
  // One after the other: two that ask at once get the same.
  current = previous.then((existing) => (existing === undefined || existing.cause !== undefined ? instance(existing?.cause, customPackage) : existing));
  return current;
}

async function instance(reason: unknown, customPackage: H5wasm | undefined): Promise<Instance> {
  const library = instanceCount++ === 0 ? await importLibrary(customPackage) : await createInstance(reason);
  const lines: string[] = [""];
  // HDF5 and its plugins write their complaints to the console otherwise.
  const { FS } = library;
  const stderrDevice = freePath(FS, "/dev/complaints-");
  FS.createDevice("/dev", stderrDevice.slice("/dev/".length), undefined, (byte) => {
    if (byte === 10) lines.push("");
    else lines[lines.length - 1] += String.fromCharCode(byte);
    if (lines.length > 200) lines.splice(0, 100);
  });
  for (const stream of [1, 2]) {
    FS.close(FS.getStream(stream));
    FS.open(stderrDevice, "w");
  }
  return {
    library,
    errorCount: 0,
    lastMessage() {
      // The innermost of the last stack of errors.
      const message = lines.filter((line) => /^\s+#\d+: /.test(line)).at(-1);
      lines.splice(0, lines.length, "");
      return message?.replace(/^.*\): /, "").trim() ?? "HDF5 does not say why";
    },
  };
}

async function importLibrary(customPackage?: H5wasm): Promise<Library> {
  try {
    const { ready } = customPackage ?? (await import("h5wasm"));
    const library = (await ready) as unknown as Library | undefined;
    // What Next's server gives for a package that is missing.
    if (library === undefined) throw new TypeError("h5wasm has no exports");
    return library;
  } catch (cause) {
    instanceCount = 0;
    throw unsupportedFile({}, "HDF5 files are read by the package h5wasm, which is not installed: npm install h5wasm", cause);
  }
}

/** Another instance, by the package's own factory; nothing keeps it alive but who uses it. */
async function createInstance(reason: unknown): Promise<Library> {
  try {
    // webpack would take `import.meta.resolve` for one more import; taken apart like this, Bun's wants to know from where.
    const { resolve } = import.meta;
    const factory = new URL("./hdf5_util.js", resolve("h5wasm", import.meta.url)).href;
    const { default: make } = await import(/* webpackIgnore: true */ /* @vite-ignore */ factory);
    return (await make({ noInitialRun: true })) as Library;
  } catch (cause) {
    throw unsupportedFile({}, `h5wasm failed on an earlier file (${reason}), and cannot be loaded again. Reload the page`, cause);
  }
}
