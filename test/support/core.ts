/** Loads the builds of the core for tests. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { A, Exports, Fn } from "../../src/base/abi.ts";

export const root: string = join(import.meta.dirname, "..", "..");

/** The exports, one per line, as in assembly/kernels.ts. */
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

export type CoreExports = Exports & KernelExports;

export type Target = "release" | "scalar" | "debug" | "kernels";

const FILES: { readonly [T in Target]: string } = {
  release: "core.wasm",
  scalar: "core.scalar.wasm",
  debug: "core.debug.wasm",
  kernels: "kernels.wasm",
};

/** Returns a compiled build, for the `module` option, or to inspect its imports and exports. */
export function moduleOf(target: Target): WebAssembly.Module {
  const module = modules.get(target) ?? new WebAssembly.Module(new Uint8Array(readFileSync(join(root, "dist", FILES[target]))));
  modules.set(target, module);
  return module;
}

const modules = new Map<Target, WebAssembly.Module>();

/** Returns a fresh instance with an open arena of at most `maxBytes`, including the exports of the kernels. */
export function coreOf(target: Target, maxBytes = 1 << 28, tracking = false): CoreExports {
  const x = new WebAssembly.Instance(moduleOf(target), {}).exports as unknown as Exports;
  x.arena_init(Math.floor(maxBytes / 4096), tracking ? 1 : 0);
  const kernels = new WebAssembly.Instance(moduleOf("kernels"), { env: { memory: x.memory as WebAssembly.Memory } }).exports as unknown as KernelExports;
  return { ...x, ...kernels };
}

/** Calls a function with change tracking in every core created during the call, as in `Replay.open`. */
export async function tracked<T>(run: () => T | Promise<T>): Promise<T> {
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function tracking(module: WebAssembly.Module, imports: WebAssembly.Imports) {
    const exports = { ...new Instance(module, imports).exports } as unknown as Exports;
    const { arena_init } = exports;
    return { exports: Object.assign(exports, { arena_init: (limit: number) => arena_init(limit, 1) }) };
  } as unknown as typeof Instance;
  try {
    return await run();
  } finally {
    WebAssembly.Instance = Instance;
  }
}
