/** Reads the last message of a trapped debug core: the location of the failed assertion, and its text (assembly/memory/trap.ts). */
import { type ASUtil, instantiateSync } from "@assemblyscript/loader";
import type { Exports } from "../../src/base/abi.ts";
import { moduleOf } from "./core.ts";

const TRAP_AT = 256;

export interface Trap {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Returns a debug core with an open arena. Its exports include the loader's string reader. */
export function debugCore(maxBytes = 1 << 26): Exports & ASUtil {
  const x = instantiateSync(moduleOf("debug")).exports as unknown as Exports & ASUtil;
  x.arena_init(Math.floor(maxBytes / 4096), 0);
  return x;
}

/** Makes a call that must trap, and returns the location and the reason. A trap without an assertion has neither line nor message. */
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
