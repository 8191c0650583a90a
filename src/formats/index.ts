/** Readers and writers of files, as reprise/rlds gives them. Exports only. */
export type { Format, ReadEpisode, ReadOptions, RldsReader } from "./reader.ts";
