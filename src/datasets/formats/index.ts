/** Readers and writers of files, as reprise/rlds gives them. Exports only. */

export type { FinalStep } from "../model/final-step.ts";
export type { FinalObservation } from "./columns/flat.ts";
export { type D4rlOptions, openD4rl } from "./hdf5/d4rl.ts";
export { openRobots, type RobotOptions } from "./hdf5/open-robots.ts";
export { type JsonlOptions, openJsonl } from "./jsonl/open-jsonl.ts";
export { writeJsonl } from "./jsonl/write.ts";
export { type Mediabunny, type MediabunnyEncoderOptions, mediabunnyEncoder } from "./lerobot/mediabunny-encoder.ts";
export { type LeRobotOptions, openLeRobot } from "./lerobot/open-lerobot.ts";
export type { MakeVideoEncoder, VideoEncoder, VideoFormat } from "./lerobot/video.ts";
export { type LeRobotWriteOptions, writeLeRobot } from "./lerobot/write-lerobot.ts";
export { type MinariOptions, openMinari } from "./minari/open-minari.ts";
export { type MinariWriteOptions, writeMinari } from "./minari/write-minari.ts";
export { type NpzOptions, openNpz } from "./npz/open-npz.ts";
export { openRlds, type RldsOptions } from "./open.ts";
export type { ColumnNames } from "./parquet/columns.ts";
export { openParquet, type ParquetOptions } from "./parquet/open-parquet.ts";
export { type ParquetWriteOptions, writeParquet } from "./parquet/write-parquet.ts";
export type { Format, ReadEpisode, ReadOptions, RldsReader } from "./reader.ts";
export { openRecording, type Recording, type RecordingOptions, type RecordingSource } from "./recording/open-recording.ts";
export { openReplay } from "./replay/open-replay.ts";
export type { ReplayOpenOptions } from "./replay/stored-replay.ts";
export { memorySink, type Sink, type SinkFile, type SinkFolder } from "./sinks/sink.ts";
export type { WriteOptions, WriteProgress, WriteReport } from "./sinks/writer.ts";
export { type Source, type SourceOptions, sourceOf } from "./sources/open-source.ts";
export type { SourceFile, SourceFolder, SourceTarget as FoundSource } from "./sources/source.ts";
export { openTfds, type TfdsOptions } from "./tfds/open-tfds.ts";
export { type TfdsWriteOptions, writeTfds } from "./tfds/write-tfds.ts";
