/** Exports reprise/storage: directories for files, and the log that journals use, for programs that build on them. `Replay.open` is in the main entry. */
import "../base/host.ts";

export type { Logger } from "../base/warnings.ts";
export { ready } from "../files/builtins.ts";
export type { Directory, StorageFile } from "../files/directory.ts";
export { type Fault, type MemoryDirectory, type MemoryOptions, memory, type Operation } from "../files/memory.ts";
export { node } from "../files/node.ts";
export { type OpfsDirectory, type OpfsOptions, opfs } from "../files/opfs.ts";
export { type SqliteOptions, type SqliteStorage, sqlite } from "../files/sqlite.ts";
export { decodeTagged } from "./decode.ts";
export { encodeTagged } from "./encode.ts";
export type { Journal, JournalStats } from "./journal/journal.ts";
export type { Durability, Retain } from "./log/durability.ts";
export { Log, type LogOptions, type Segment, type Visit } from "./log/log.ts";
export type { MigrationReport, StateMigration } from "./migration/options.ts";
export { type MigratedSnapshot, migrateSnapshot, type SnapshotMigration } from "./snapshot/migrate.ts";
export type { SnapshotSource } from "./snapshot/read.ts";
