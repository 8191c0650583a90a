/** reprise/storage: what outlives a process. Importing it gives the main entry's `Replay` its `open`. */
import "./install.ts";

export { ready } from "./builtins.ts";
export type { Directory, StorageFile } from "./directory.ts";
export type { Durability } from "./durability.ts";
export { Journal, type JournalStats } from "./journal.ts";
export { Log, type LogOptions, type Segment, type Visit } from "./log.ts";
export { type Fault, type MemoryDirectory, type MemoryOptions, memory, type Operation } from "./memory-directory.ts";
export { node } from "./node-directory.ts";
export { type OpenOptions, type OpenReplay, open } from "./open.ts";
export { type OpfsDirectory, type OpfsOptions, opfs } from "./opfs-directory.ts";
export type { Logger } from "./recover.ts";
export type { Retain } from "./retain.ts";
export { encodeTagged } from "./tagged.ts";
export { decodeTagged } from "./untagged.ts";
