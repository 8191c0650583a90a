/** Reads the episodes of a recording, one after the other. Reading starts with the segment in which the first requested episode begins. */

import { ReplayError } from "../../../base/error.ts";
import { RECORDED_END, RECORDED_FINAL, RECORDED_FRAME, RECORDED_STEP } from "../../../base/kinds.ts";
import { SectionMemory } from "../../../memory/section-memory.ts";
import { SECTION_BYTES, type SectionParser } from "../../../storage/format/section.ts";
import { faultOf } from "../../../storage/log/read-directory.ts";
import { SegmentReader } from "../../../storage/log/read-segment.ts";
import { fileOf } from "../../../storage/log/segment-head.ts";
import { FINAL_STEP, type FinalStep } from "../../model/final-step.ts";
import { ENDED, SUCCESS, TERMINATED } from "../../model/recording/contents.ts";
import type { FrameLeaf, RowLayout } from "../../model/recording/row-layout.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import type { Damage } from "../damage.ts";
import type { ReadEpisode } from "../reader.ts";
import { EpisodeColumns } from "./episode-columns.ts";
import { LazyFrames, type ReadNow } from "./lazy-frames.ts";
import { damaged, type EpisodeEntry, type Listing } from "./listing.ts";
import type { PendingFrames } from "./read-frames.ts";
import type { RecordingFolder } from "./recording-folder.ts";
import { readSteps, type StepSelection } from "./step-schema.ts";

/** The size in bytes above which the frames of an episode remain in storage, if they can be read synchronously. */
const EAGER_BYTES = 2 ** 26;

export interface EpisodesOptions {
  readonly listing: Listing;
  readonly layout: RowLayout;
  readonly selected: StepSelection;
  /** Receives the damaged parts. Undefined if they are errors. */
  readonly losses: Damage | undefined;
  readonly frames: PendingFrames;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Yields the episodes of a recording. @param first the number of the first episode, not counting discarded episodes
 * @throws RldsError CORRUPT if a file is damaged · UNSUPPORTED if an episode takes more than maxBytes. The errors include the file, the episode and the step
 */
export async function* episodesOf<S>(folder: RecordingFolder, first: number, options: EpisodesOptions): AsyncGenerator<ReadEpisode<S>, void, undefined> {
  const { segments, run, episodes } = options.listing;
  const memory = new SectionMemory();
  const open = new OpenEpisode(folder, first, options);
  const begin = episodes[first]?.segment ?? segments.length;
  try {
    for (const { id, bytes, sum, stretches } of segments.slice(begin)) {
      options.signal?.throwIfAborted();
      // A missing segment has no stretches.
      if (stretches?.length === 0) continue;
      await folder.ready(id);
      for (const { start, to } of stretches ?? [{ start: undefined, to: bytes }]) {
        const walk = new SegmentReader(folder.directory, id, memory, to, undefined, start);
        try {
          while (walk.next()) {
            const finished = open.section(walk.sections, id);
            // An await is avoided if the result is synchronous.
            if (finished instanceof Promise) await finished;
            for (const episode of open.episodes.splice(0)) yield episode as ReadEpisode<S>;
            if (open.isDone) return;
          }
          const isChecked = stretches !== undefined || id === segments.at(-1)?.id;
          const fault = isChecked ? undefined : faultOf(walk, run, sum);
          if (fault !== undefined) throw damaged(id, walk.faultAt ?? walk.sections.end, fault);
        } finally {
          walk.close();
        }
      }
      await folder.release();
    }
    open.end();
    for (const episode of open.episodes.splice(0)) yield episode as ReadEpisode<S>;
  } finally {
    await folder.release();
  }
}

/** Collects the sections of the current episode. */
class OpenEpisode {
  /** The complete episodes that have not been passed on yet. */
  readonly episodes: ReadEpisode[] = [];
  readonly #folder: RecordingFolder;
  readonly #options: EpisodesOptions;
  #next: number;
  #columns: EpisodeColumns | undefined;
  #last: FinalStep = "transition";
  /** Whether a part of the episode is damaged. Such an episode is not passed on. */
  #isLost = false;

  constructor(folder: RecordingFolder, next: number, options: EpisodesOptions) {
    this.#folder = folder;
    this.#next = next;
    this.#options = options;
  }

  get isDone(): boolean {
    return this.#nextEntry === undefined;
  }

  get #nextEntry(): EpisodeEntry | undefined {
    return this.#options.listing.episodes[this.#next];
  }

  /** Adds a section. Returns a promise if a file must be read first. @throws RldsError CORRUPT if the section is damaged and `losses` is undefined */
  section({ kind, id, payload, from }: SectionParser, segment: number): Promise<void> | undefined {
    const { frames } = this.#options;
    const place = { file: fileOf(segment), offset: from };
    if (kind === RECORDED_FRAME) {
      this.#attempt(place, () => frames.addSection(id, payload, { file: place.file, at: from + SECTION_BYTES }));
      return undefined;
    }
    if (kind !== RECORDED_STEP && kind !== RECORDED_FINAL && kind !== RECORDED_END) return undefined;
    // An episode that was cut off ends at the beginning of the next episode.
    while (this.#nextEntry !== undefined && this.#nextEntry.number < id) this.end();
    if (this.#nextEntry?.number !== id) {
      frames.forget();
      return undefined;
    }
    if (kind === RECORDED_END) {
      this.end();
      return undefined;
    }
    if (this.#isLost) {
      frames.forget();
      return undefined;
    }
    const columns = this.#attempt(place, () => this.#startColumns(this.#nextEntry as EpisodeEntry, place));
    if (columns === undefined) return undefined;
    this.#last = kind === RECORDED_FINAL ? "observation" : "transition";
    const at = { ...place, episode: this.#next, step: columns.length };
    const { steps } = this.#nextEntry;
    if (columns.length === steps) {
      this.#fail(corruptFile(at, `the episode has more than the declared ${steps} steps`));
      return undefined;
    }
    if (frames.areSeparate && !columns.isLazy) return this.#addRow(at, columns, payload.slice(), id);
    this.#attempt(at, () => columns.add(payload, columns.isLazy ? frames.places(id, columns.length) : frames.pixels()));
    this.#endIfCut();
    return undefined;
  }

  /** Ends the requested episode. @throws RldsError CORRUPT if the episode differs from the list and `losses` is undefined */
  end(): void {
    const entry = this.#nextEntry;
    if (entry === undefined) return;
    const { layout, selected } = this.#options;
    const columns = this.#columns ?? new EpisodeColumns(layout, 1, selected.reads);
    const { length } = columns;
    if (!this.#isLost && (length !== entry.steps || length === 0))
      this.#fail(corruptFile({ episode: this.#next }, `the episode has ${length} steps instead of the declared ${entry.steps}`));
    if (this.#isLost) {
      this.#begin();
      return;
    }
    const has = (flag: number) => (entry.flags & flag) !== 0;
    const steps = readSteps<ReadEpisode["steps"] extends { at(i: number): infer S } ? S : never>(selected, columns.finish(), length, has(TERMINATED));
    this.episodes.push({ task: entry.task, success: has(SUCCESS), finished: has(ENDED), [FINAL_STEP]: this.#last, steps });
    this.#begin();
  }

  #begin(): void {
    this.#columns = undefined;
    this.#isLost = false;
    this.#next++;
  }

  /** Abandons the episode. @throws the error if `losses` is undefined */
  #fail(error: unknown): void {
    const { losses } = this.#options;
    if (losses === undefined) throw error;
    losses.add(error);
    this.#isLost = true;
  }

  #startColumns({ steps, segment }: EpisodeEntry, place: object): EpisodeColumns {
    if (this.#columns !== undefined) return this.#columns;
    const { layout, maxBytes, listing, frames, selected, losses } = this.#options;
    const { reads } = selected;
    const availableBytes = listing.segments.slice(segment).reduce((sum, file) => sum + file.bytes, 0);
    if (steps * SECTION_BYTES > availableBytes)
      throw corruptFile(
        { ...place, episode: this.#next, step: 0 },
        `the episode declares ${steps} steps, but the files have only ${availableBytes} bytes for it`,
      );
    const episode = this.#next;
    const wholeBytes = steps * EpisodeColumns.stepBytes(layout, reads);
    const { readNow } = this.#folder;
    const isLazy = readNow !== undefined && layout.frames.some(reads) && wholeBytes > Math.min(EAGER_BYTES, maxBytes);
    const tooLarge = (bytes: number, reason: string, cause?: unknown) =>
      unsupportedFile({ episode }, `the episode's ${steps} steps take ${bytes} bytes in memory, ${reason}`, cause);
    const check = (bytes: number) => {
      if (bytes > maxBytes) throw tooLarge(bytes, `more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
    };
    const bytes = isLazy ? steps * EpisodeColumns.stepBytes(layout, reads, true) : wholeBytes;
    check(bytes);
    try {
      const decoding = {
        readNow: readNow as ReadNow,
        decode: (frame: Uint8Array, leaf: FrameLeaf) => frames.decode(frame, leaf),
        check: () => check(wholeBytes),
      };
      const lazyFrames = isLazy ? layout.frames.map((leaf) => new LazyFrames({ ...decoding, leaf }, reads(leaf) ? steps : 0, losses !== undefined)) : undefined;
      this.#columns = new EpisodeColumns(layout, steps, reads, lazyFrames);
    } catch (error) {
      throw tooLarge(bytes, "more than this machine can allocate. Record shorter episodes", error);
    }
    return this.#columns;
  }

  async #addRow(place: object, columns: EpisodeColumns, row: Uint8Array, episode: number): Promise<void> {
    try {
      const pixels = await this.#options.frames.fromFiles(this.#folder, episode, columns.length);
      columns.add(row, pixels);
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      this.#fail(toReplayError(error, place));
    }
    this.#endIfCut();
  }

  /** Ends a damaged episode at the last step before the damage. */
  #endIfCut(): void {
    const entry = this.#nextEntry;
    if (entry?.isCut === true && (this.#isLost || this.#columns?.length === entry.steps)) this.end();
  }

  #attempt<T>(place: object, call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      this.#fail(toReplayError(error, place));
      return undefined;
    }
  }
}

/** Returns the error for damage. A ReplayError, for example about an unreadable file, is returned unchanged. */
function toReplayError(error: unknown, place: object): ReplayError {
  return error instanceof ReplayError ? error : corruptFile(place, (error as Error).message, error);
}
