/** Loads the HDF5 library h5wasm, which a user installs to read HDF5 files. */
import type { Module } from "h5wasm";
import { unsupportedFile } from "../../model/rlds-error.ts";
import type { H5wasm } from "./package.ts";

/** The methods of Emscripten's file system that Reprise uses. */
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

/** Returns an unused path. Paths are numbered, because another copy of this package may use the same instance of the library. */
export function freePath(files: Files, prefix: string, suffix = ""): string {
  for (let n = 0; ; n++) if (!files.analyzePath(`${prefix}${n}${suffix}`).exists) return `${prefix}${n}${suffix}`;
}

/** A file in Emscripten's file system. */
export interface FileNode {
  usedBytes: number;
  contents: Uint8Array | null;
  stream_ops: object;
}

/** The WebAssembly module of h5wasm, including exports that the types of the package do not declare. */
export type Library = Omit<typeof Module, "FS"> & { readonly FS: Files; _malloc(bytes: number): number; _free(at: number): void; readonly HEAPU8: Uint8Array };

/** One instance of the library. A trap breaks an instance, and a new instance then replaces it. */
export interface Instance {
  readonly library: Library;
  /** The error that broke the instance. Undefined if the instance works. */
  cause?: unknown;
  /** The number of errors that the library has thrown. Each error leaks a little of its stack. */
  errorCount: number;
  /** Returns the message in the innermost line of the last error stack of HDF5, and clears all messages. */
  lastMessage(): string;
}

let current: Promise<Instance> | undefined;
let instanceCount = 0;

/**
 * Returns the instance that all files share, or a new instance if the shared instance is broken.
 * @param customPackage the package, if it cannot be imported by name
 * @throws RldsError UNSUPPORTED if the package is missing, or cannot be loaded again after an instance broke
 */
export function h5wasm(customPackage?: H5wasm): Promise<Instance> {
  const previous: Promise<Instance | undefined> = current?.catch(() => undefined) ?? Promise.resolve(undefined);
  // Calls run one after the other, so concurrent calls return the same instance.
  current = previous.then((existing) => (existing === undefined || existing.cause !== undefined ? instance(existing?.cause, customPackage) : existing));
  return current;
}

async function instance(reason: unknown, customPackage: H5wasm | undefined): Promise<Instance> {
  const library = instanceCount++ === 0 ? await importLibrary(customPackage) : await createInstance(reason);
  const lines: string[] = [""];
  // Without this device, HDF5 and its plugins would write their errors to the console.
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
      // The innermost line is the last line of the error stack.
      const message = lines.filter((line) => /^\s+#\d+: /.test(line)).at(-1);
      lines.splice(0, lines.length, "");
      return message?.replace(/^.*\): /, "").trim() ?? "HDF5 reports no reason";
    },
  };
}

async function importLibrary(customPackage?: H5wasm): Promise<Library> {
  try {
    const { ready } = customPackage ?? (await import("h5wasm"));
    const library = (await ready) as unknown as Library | undefined;
    // Next.js resolves a missing package to an undefined value.
    if (library === undefined) throw new TypeError("h5wasm has no exports");
    return library;
  } catch (cause) {
    instanceCount = 0;
    throw unsupportedFile({}, "h5wasm is required to read or write HDF5. Run npm install h5wasm", cause);
  }
}

/**
 * Creates another instance of the library, with a factory from the package. The instance can be garbage-collected after all files have released it. @throws
 * RldsError UNSUPPORTED if the factory cannot be loaded
 */
async function createInstance(reason: unknown): Promise<Library> {
  try {
    // The function is detached, because webpack would treat a direct call to `import.meta.resolve` as an import. The detached function requires the base URL in
    // Bun.
    const { resolve } = import.meta;
    const factory = new URL("./hdf5_util.js", resolve("h5wasm", import.meta.url)).href;
    const { default: make } = await import(/* webpackIgnore: true */ /* @vite-ignore */ factory);
    return (await make({ noInitialRun: true })) as Library;
  } catch (cause) {
    throw unsupportedFile({}, `h5wasm failed on an earlier file (${reason}) and cannot be loaded again. Reload the page`, cause);
  }
}
