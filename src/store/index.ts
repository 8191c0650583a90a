/** reprise/storage: places for files, and the log of groups under a journal, for those who build on them. `Replay.open` is in the main entry. */
import "../host.ts";

export type { Logger } from "../warnings.ts";
export { ready } from "./directory/builtins.ts";
export type { Directory, StorageFile } from "./directory/directory.ts";
export { type Fault, type MemoryDirectory, type MemoryOptions, memory, type Operation } from "./directory/memory.ts";
export { node } from "./directory/node.ts";
export { type OpfsDirectory, type OpfsOptions, opfs } from "./directory/opfs.ts";
export type { Journal, JournalStats } from "./journal/journal.ts";
export type { Durability, Retain } from "./log/durability.ts";
export { Log, type LogOptions, type Segment, type Visit } from "./log/log.ts";
export { encodeTagged } from "./tagged.ts";
export { decodeTagged } from "./untagged.ts";
