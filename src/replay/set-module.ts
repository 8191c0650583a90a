/** The entry for hosts that compile no WebAssembly (dist/workerd): they import the core as a module and set it here. It is bundled with the Replay. */
import "./replay.ts";

export { setModule } from "../memory/module.ts";
