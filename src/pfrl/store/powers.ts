/** A small core for powers alone, for a buffer that has no steps yet. */

import { Core } from "../../core/core.ts";
import type { EngineOptions } from "./steps.ts";
import type { Powers } from "./weighing.ts";

/** Enough for any list of errors that one would look at. */
const BYTES = 2 ** 28;

export function powersOf({ module }: EngineOptions): Powers {
  const core = new Core(BYTES, module);
  return { core, x: core.x };
}
