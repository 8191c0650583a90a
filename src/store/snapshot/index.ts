/** reprise/snapshot: a Replay as bytes, and back. */
export { type RestoreOptions, restore, type SnapshotSource } from "./read.ts";
export { snapshot } from "./write.ts";
