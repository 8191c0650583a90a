/** The core's builds, as tests load them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { A, Exports, Fn } from "../../src/core/abi.ts";
import type { ImageExports } from "../../src/core/image.ts";
import type { PfrlExports } from "../../src/core/pfrl-core.ts";
import type { WindowsExports } from "../../src/core/windows-core.ts";

export const root: string = join(import.meta.dirname, "..", "..");

/** One line each as in assembly/kernels.ts. */
export interface KernelExports {
  random_below: Fn<[state: A, n: A]>;
  random_bytes: Fn<[]>;
  random_f64: Fn<[state: A]>;
  random_init: Fn<[state: A, seedLow: A, seedHigh: A, stream: A], void>;
  sum_tree_bytes: Fn<[leaves: A]>;
  sum_tree_draw: Fn<[tree: A, random: A, n: A, out: A, rests: A], void>;
  sum_tree_init: Fn<[tree: A, leaves: A, exponent: A], void>;
  sum_tree_update: Fn<[tree: A, slots: A, priorities: A, n: A, nodes: A], void>;
}

/** What the core exports, and what the modules do that work in its memory. */
export type CoreExports = Exports & ImageExports & WindowsExports & PfrlExports & KernelExports;

export type Target = "release" | "scalar" | "debug" | "tracking" | "image" | "windows" | "pfrl" | "journal" | "sections" | "kernels";

const FILES: { readonly [T in Target]: string } = {
  release: "core.wasm",
  scalar: "core.scalar.wasm",
  debug: "core.debug.wasm",
  tracking: "tracking.wasm",
  image: "image.wasm",
  windows: "windows.wasm",
  journal: "journal.wasm",
  sections: "sections.wasm",
  pfrl: "pfrl.wasm",
  kernels: "kernels.wasm",
};

/** A build, compiled: for the `module` option, or to look at its imports and exports. */
export function moduleOf(target: Target): WebAssembly.Module {
  return new WebAssembly.Module(new Uint8Array(readFileSync(join(root, "dist", FILES[target]))));
}

/** A fresh instance with an open arena of at most `maxBytes`, and with the exports of the image, windows and pfrl modules and of the kernels beside its own. */
export function coreOf(target: Target, maxBytes = 1 << 28): CoreExports {
  const x = new WebAssembly.Instance(moduleOf(target), {}).exports as unknown as Exports;
  x.arena_init(Math.floor(maxBytes / 4096));
  const inMemory = (other: Target) => new WebAssembly.Instance(moduleOf(other), { env: { memory: x.memory } }).exports;
  return {
    ...x,
    ...(inMemory("image") as unknown as ImageExports),
    ...(inMemory("windows") as unknown as WindowsExports),
    ...(inMemory("pfrl") as unknown as PfrlExports),
    ...(inMemory("kernels") as unknown as KernelExports),
  };
}
