/**
 * Exports the entry for hosts that cannot compile WebAssembly (dist/workerd). They import the core as a module and set it here. It is bundled with the Replay.
 */
import "./replay.ts";

export { setModule } from "../memory/module.ts";
