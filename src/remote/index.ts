/** reprise/remote: writers whose Replay is at the other end of a port. Loads no WebAssembly. Exports only. */
import "../base/host.ts";

export { ReplayError, type ReplayErrorCode } from "../base/error.ts";
export * from "../schema/constructors.ts";
export type { PortLike } from "./port.ts";
export { RemoteWriter, type RemoteWriterOptions, remoteWriter } from "./writer.ts";
