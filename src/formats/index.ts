/** Readers and writers of files, as reprise/rlds gives them. Exports only. */

export { type Source, type SourceOptions, sourceOf } from "./open-source.ts";
export type { Format, ReadEpisode, ReadOptions, RldsReader } from "./reader.ts";
export type { FoundSource, SourceFile, SourceFolder } from "./source.ts";
export { openTfds, type TfdsOptions } from "./tfds/open-tfds.ts";
