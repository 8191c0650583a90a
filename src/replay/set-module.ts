/**
 * Exports the entry for hosts that cannot compile WebAssembly (dist/workerd). These hosts import the core as a module and set it here. This entry is bundled
 * with the Replay.
 */
import "./replay.ts";

export { setModule } from "../memory/module.ts";
