/** For entries of hosts that compile nothing (dist/workerd): they import the core, and give it here. It stands in the chunk of a Replay. */
import "./replay.ts";

export { provide } from "../memory/module.ts";
