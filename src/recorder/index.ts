/** Exports reprise/record, a recorder for robots and games. */
import "../base/host.ts";

export type { Logger } from "../base/warnings.ts";
export { openRecording } from "../datasets/formats/recording/open-recording.ts";
export type { Recording, RecordingOptions, RecordingSource } from "../datasets/formats/recording/recording.ts";
export type { ImageFormat, ImageStorage as ImagePlace } from "../datasets/model/recording/about.ts";
export type { Directory } from "../files/directory.ts";
export type { Durability } from "../storage/log/durability.ts";
export { open } from "./open.ts";
export type { RecordOptions } from "./options.ts";
export type { EndOptions, Recorder } from "./recorder.ts";
