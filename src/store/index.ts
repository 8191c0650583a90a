/** reprise/storage: what outlives a process. Importing it gives the main entry's `Replay` its `open`. */
import "./install.ts";

export { ready } from "./directory/builtins.ts";
export type { Directory, StorageFile } from "./directory/directory.ts";
export { type Fault, type MemoryDirectory, type MemoryOptions, memory, type Operation } from "./directory/memory.ts";
export { node } from "./directory/node.ts";
export { type OpfsDirectory, type OpfsOptions, opfs } from "./directory/opfs.ts";
export { Journal, type JournalStats } from "./journal/journal.ts";
export type { Durability } from "./log/durability.ts";
export { Log, type LogOptions, type Segment, type Visit } from "./log/log.ts";
export type { Logger } from "./log/scan.ts";
export { type OpenOptions, type OpenReplay, open } from "./open.ts";
export type { Retain } from "./retain.ts";
export { encodeTagged } from "./tagged.ts";
export { decodeTagged } from "./untagged.ts";
