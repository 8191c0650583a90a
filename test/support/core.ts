/** The core's builds, as tests load them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Exports } from "../../src/abi.ts";
import type { ImageExports } from "../../src/snapshot/image.ts";

export const root: string = join(import.meta.dirname, "..", "..");

/** What the core exports, and what the image module does. */
export type CoreExports = Exports & ImageExports;

export type Target = "release" | "scalar" | "debug" | "image";

const FILES: { readonly [T in Target]: string } = { release: "core.wasm", scalar: "core.scalar.wasm", debug: "core.debug.wasm", image: "image.wasm" };

/** A build, compiled: for the `module` option, or to look at its imports and exports. */
export function moduleOf(target: Target): WebAssembly.Module {
  return new WebAssembly.Module(new Uint8Array(readFileSync(join(root, "dist", FILES[target]))));
}

/** A fresh instance with an open arena of at most `maxBytes`, and with the image module's exports beside its own. */
export function coreOf(target: Target, maxBytes = 1 << 28): CoreExports {
  const x = new WebAssembly.Instance(moduleOf(target), {}).exports as unknown as Exports;
  x.arena_init(Math.floor(maxBytes / 4096));
  const image = new WebAssembly.Instance(moduleOf("image"), { env: { memory: x.memory } });
  return { ...x, ...(image.exports as unknown as ImageExports) };
}
