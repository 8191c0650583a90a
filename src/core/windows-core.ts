/** The windows module: draws from the windows of streams, in the memory of a core (assembly/windows/). */
import bytes from "../../dist/windows-bytes.js";
import { internals } from "../index.ts";
import type { A, Fn } from "./abi.ts";
import type { Core } from "./core.ts";

/** Its exports, one line each as in assembly/windows.ts. */
export interface WindowsExports {
  window_clear: Fn<[windows: A, i: A], void>;
  window_length: Fn<[windows: A, i: A]>;
  window_lend: Fn<[windows: A, i: A, writerStream: A], void>;
  window_reserve: Fn<[windows: A, i: A, steps: A]>;
  window_stream: Fn<[windows: A, i: A]>;
  window_take: Fn<[windows: A, i: A, writerStream: A], void>;
  windows_bytes: Fn<[n: A, own: A]>;
  windows_draw: Fn<[windows: A, draw: A, ask: A, width: A, weigh: A]>;
  windows_init: Fn<[windows: A, n: A, pool: A, first: A, stride: A], void>;
  windows_read: Fn<[windows: A, draw: A, count: A, width: A]>;
  windows_reserve: Fn<[windows: A, rows: A]>;
  windows_seed: Fn<[windows: A, low: A, high: A, stream: A], void>;
  windows_show: Fn<[windows: A, i: A, shown: A], void>;
  windows_total: Fn<[windows: A, width: A, weigh: A]>;
}

/** What weighs a stream (assembly/draw/streams.ts). */
export const LEVEL = 0;
export const ALIKE = 1;
export const BY_STEPS = 2;

/** Columns of a draw that name a window (assembly/draw/draw.ts). */
export const STREAM = 8;
export const START = 12;

let compiled: WebAssembly.Module | undefined;

/** The windows module of a core. @param module where a host compiles ahead of time */
export function windowsOf(core: Core, module?: WebAssembly.Module): WindowsExports {
  // Not where a module is given: its host may forbid compiling.
  if (module === undefined) compiled ??= internals.compile(bytes);
  return new WebAssembly.Instance((module ?? compiled) as WebAssembly.Module, { env: { memory: core.x.memory } }).exports as unknown as WindowsExports;
}
