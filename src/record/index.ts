/** reprise/record: a recorder for robots and games, and what it recorded as a dataset. Exports only. */
import "../host.ts";

export { openRecording, type Recording, type RecordingOptions, type RecordingSource } from "../formats/index.ts";
export type { Directory } from "../store/directory/directory.ts";
export type { Durability } from "../store/log/durability.ts";
export type { Logger } from "../warnings.ts";
export type { ImageFormat, ImagePlace } from "./form/about.ts";
export { open } from "./open.ts";
export type { RecordOptions } from "./options.ts";
export type { EndOptions, Recorder } from "./recorder.ts";
