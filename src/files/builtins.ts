/** Provides the parts of Node's built-in modules that directories in the file system use. */

import { ReplayError } from "../base/error.ts";
import { builtin, getBuiltin, type Host, hasBuiltins, host } from "./builtins/builtins.ts";

/** The part of `node:fs` that Reprise uses. */
export interface Fs {
  readonly constants: { readonly O_RDONLY: number; readonly O_RDWR: number; readonly O_CREAT: number };
  openSync(path: string, flags: number | string): number;
  closeSync(file: number): void;
  fstatSync(file: number): { readonly size: number };
  readSync(file: number, into: Uint8Array, offset: number, length: number, at: number): number;
  writeSync(file: number, from: Uint8Array, offset: number, length: number, at: number): number;
  ftruncateSync(file: number, bytes: number): void;
  fsyncSync(file: number): void;
  mkdirSync(path: string, options: { recursive: boolean }): void;
  readdirSync(path: string): string[];
  unlinkSync(path: string): void;
  renameSync(from: string, to: string): void;
  linkSync(from: string, to: string): void;
  readFileSync(path: string, encoding: "utf8"): string;
  writeFileSync(path: string, text: string, options?: { flag: string }): void;
  readlinkSync(path: string): string;
  statSync(path: string): { readonly mtimeMs: number; isFile(): boolean; isDirectory(): boolean };
  realpathSync(path: string): string;
}

/** Checks that a path leads to a file or folder. Opening a pipe for reading could wait for a writer forever. @throws an error with the code ESPIPE otherwise */
export function refusePipe(fs: Fs, path: string): void {
  const stat = fs.statSync(path);
  // A folder needs no check, since opening it fails anyway.
  if (!stat.isFile() && !stat.isDirectory()) throw Object.assign(new Error(`${path} is not a file`), { code: "ESPIPE" });
}

export interface Builtins {
  readonly fs: Fs;
  readonly os: { hostname(): string };
  readonly path: { resolve(path: string): string };
  readonly process: Host;
}

let builtins: Builtins | undefined;

if (host !== undefined && getBuiltin("node:fs") !== undefined) {
  builtins = {
    fs: getBuiltin("node:fs") as Fs,
    os: getBuiltin("node:os") as Builtins["os"],
    path: getBuiltin("node:path") as Builtins["path"],
    process: host,
  };
}

/**
 * A promise that resolves when Node's built-in modules are loaded, or cannot be loaded. Only programs in a Node without `process.getBuiltinModule` must wait
 * for it: Node before 20.16, Node 21, and Node 22 before 22.3.
 */
export const ready: Promise<void> = builtins === undefined && hasBuiltins ? loadBuiltins(host as Host).catch(() => {}) : Promise.resolve();

async function loadBuiltins(process: Host): Promise<void> {
  const [fs, os, path] = await Promise.all([builtin<Fs>("node:fs"), builtin<Builtins["os"]>("node:os"), builtin<Builtins["path"]>("node:path")]);
  builtins = { fs, os, path, process };
}

/** Returns Node's built-in modules. @throws ReplayError UNSUPPORTED if the host has no such modules, or if they are not loaded yet */
export function nodeModules(): Builtins {
  if (builtins !== undefined) return builtins;
  const remedy = hasBuiltins
    ? "Await `ready` of reprise/storage first, or use Node 20.16"
    : "Pass a directory of this runtime: await opfs(path) in a worker of a page, or sqlite(ctx.storage) in a Durable Object";
  throw new ReplayError("UNSUPPORTED", `this runtime cannot access the file system. ${remedy}`);
}
