/** Reads recordings of reprise/record as datasets. */
import { integer, onlyKeys, ReplayError } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { ready } from "../../../files/builtins.ts";
import { readConsistently } from "../../../storage/log/file-sizes.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, FINAL_STEP_LEAF } from "../../model/final-step.ts";
import { RowLayout } from "../../model/recording/row-layout.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { type Damage, damageOf, withDamage, withSalvageRemedy } from "../damage.ts";
import { imageDecoder } from "../images/images.ts";
import { READ_OPTIONS, type ReadEpisode } from "../reader.ts";
import { addAbsentFields, nameSalvage } from "../reader-steps.ts";
import { Selection } from "../selection/selection.ts";
import { isDirectory } from "../sources/directory-source.ts";
import { sourceOf } from "../sources/open-source.ts";
import { episodesOf } from "./episodes.ts";
import { type Listing, listRecording } from "./listing.ts";
import { PendingFrames } from "./read-frames.ts";
import type { Recording, RecordingOptions, RecordingSource } from "./recording.ts";
import { DirectoryFolder, type RecordingFolder } from "./recording-folder.ts";
import { salvageRecording } from "./salvage.ts";
import { SourceDirectory } from "./source-directory.ts";
import { selectStep } from "./step-schema.ts";

/** The metadata of a recorded episode. */
const METADATA: { readonly [name: string]: StepSpec } = {
  task: { dtype: "string", shape: [] },
  success: { dtype: "bool", shape: [] },
  finished: { dtype: "bool", shape: [] },
  [FINAL_STEP]: FINAL_STEP_LEAF,
};

/** Implements `openRecording`. */
export async function readRecording<S = RldsStep>(from: RecordingSource, options: RecordingOptions): Promise<Recording<S>> {
  const { maxBytes = MAX_SOURCE_BYTES, salvage, signal, fetch } = onlyKeys("options", options, `fetch, ${READ_OPTIONS}`);
  const selection = new Selection(options);
  const losses = damageOf(salvage);
  integer("maxBytes", maxBytes, 1);
  await ready;
  const read = async () => {
    const folder = await folderOf(from, { maxBytes, signal, fetch });
    try {
      const listing = await (losses === undefined ? listRecording(folder, signal) : salvageRecording(folder, { signal, losses }));
      return await reader<S>(folder, listing, { maxBytes, signal, losses, selection });
    } finally {
      await folder.release();
    }
  };
  const recording = await rlds("the recording", () => readConsistently("the recording", read, signal)).catch((error) => {
    throw losses === undefined ? withSalvageRemedy(error) : error;
  });
  return nameSalvage(addAbsentFields({ ...recording, ...withDamage(losses) })) as Recording<S>;
}

interface ReadingOptions {
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly losses: Damage | undefined;
  readonly selection: Selection;
}

async function reader<S>(folder: RecordingFolder, listing: Listing, { maxBytes, signal, losses, selection }: ReadingOptions): Promise<Recording<S>> {
  const { about, episodes } = listing;
  const layout = new RowLayout(about.spec);
  const selected = selectStep(about.spec, selection);
  selection.check();
  const { reads } = selected;
  const decode = about.images === "png" && layout.frames.some(reads) ? await imageDecoder() : undefined;
  const from = (first: number): AsyncIterable<ReadEpisode<S>> => ({
    async *[Symbol.asyncIterator]() {
      const frames = new PendingFrames(layout, about, { decode, maxBytes, reads });
      const reading = episodesOf<S>(folder.fork(), first, { listing, layout, selected, losses, frames, maxBytes, signal });
      try {
        for (;;) {
          const { done, value } = await rlds(folder.directory.name, () => reading.next());
          if (done === true) return;
          yield value;
        }
      } finally {
        await reading.return(undefined);
      }
    },
  });
  return {
    format: "recording",
    name: folder.directory.name,
    stepSpec: selected.spec,
    metadataSpec: METADATA,
    episodes: episodes.length,
    steps: episodes.reduce((sum, { steps }) => sum + steps, 0),
    about: { ...about.about, fps: about.fps, tasks: [...new Set(episodes.map(({ task }) => task))].filter((task) => task !== "") },
    [Symbol.asyncIterator]: () => from(0)[Symbol.asyncIterator](),
    startingAt: (episode: number) => from(integer("episode", episode, 0)),
    lengths: async () => episodes.map(({ steps }) => steps),
    close: () => folder.release(),
  };
}

async function folderOf(from: RecordingSource, options: RecordingOptions & { readonly maxBytes: number }): Promise<RecordingFolder> {
  if (isDirectory(from)) return new DirectoryFolder(from);
  const { folder, file } = await sourceOf(from, options);
  if (folder !== undefined) return SourceDirectory.of(folder, options.maxBytes, options.signal);
  await file.close();
  throw unsupportedFile({ file: file.name }, "a recording is a folder, got a file. Pass the folder that contains 00000001.rpr");
}

/** Converts errors of the log to errors of a dataset. */
async function rlds<T>(file: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ReplayError) || error instanceof RldsError) throw error;
    throw new RldsError(error.code, error.message, { file }, { cause: error });
  }
}
