/** Exports reprise/remote: writers whose Replay is at the other end of a port. It loads no WebAssembly. */
import "../base/host.ts";

export { ReplayError, type ReplayErrorCode } from "../base/error.ts";
export * from "../schema/constructors.ts";
export { type ByteChannel, type ChannelHandlers, ServerChannel, type ServerSocketLike, type SocketLike } from "./channels/channel.ts";
export type { WriterTarget } from "./channels/connect.ts";
export type { PortLike } from "./channels/port.ts";
export type { MessageEventLike } from "./inbox.ts";
export { type RemoteWriterOptions, remoteWriter } from "./remote-writer.ts";
export { RemoteWriter } from "./writer.ts";
