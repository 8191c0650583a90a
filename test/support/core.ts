/** The core's builds, as tests load them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Exports } from "../../src/abi.ts";

export const root: string = join(import.meta.dirname, "..", "..");

export type Target = "release" | "scalar" | "debug";

const FILES: { readonly [T in Target]: string } = { release: "core.wasm", scalar: "core.scalar.wasm", debug: "core.debug.wasm" };

/** A build, compiled: for the `module` option, or to look at its imports and exports. */
export function moduleOf(target: Target): WebAssembly.Module {
  return new WebAssembly.Module(new Uint8Array(readFileSync(join(root, "dist", FILES[target]))));
}

/** A fresh instance with an open arena of at most `maxBytes`. */
export function coreOf(target: Target, maxBytes = 1 << 28): Exports {
  const x = new WebAssembly.Instance(moduleOf(target), {}).exports as unknown as Exports;
  x.arena_init(Math.floor(maxBytes / 4096));
  return x;
}
