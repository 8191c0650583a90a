/** What a trapped debug core left behind: where an assertion failed, and its message (assembly/memory/trap.ts). */
import { type ASUtil, instantiateSync } from "@assemblyscript/loader";
import type { Exports } from "../../src/base/abi.ts";
import { moduleOf } from "./core.ts";

const TRAP_AT = 256;

export interface Trap {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** A debug core with an open arena. The loader's reader of strings comes with its exports. */
export function debugCore(maxBytes = 1 << 26): Exports & ASUtil {
  const x = instantiateSync(moduleOf("debug")).exports as unknown as Exports & ASUtil;
  x.arena_init(Math.floor(maxBytes / 4096), 0);
  return x;
}

/** Calls what must trap and reads where and why. A trap that no assertion made has neither line nor message. */
export function trapOf(x: Exports & ASUtil, call: () => void): Trap {
  const words = () => new Uint32Array(x.memory.buffer, TRAP_AT, 3);
  words().fill(0);
  try {
    call();
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    const [line = 0, column = 0, message = 0] = words();
    return { line, column, message: message === 0 ? "" : x.__getString(message) };
  }
  throw new Error("the call was to trap, and did not");
}
