/** The episodes of a recording, one after the other: its segments are gone through from the one in which the first of them begins. */

import { ReplayError } from "../../../base/error.ts";
import { RECORDED_END, RECORDED_FINAL, RECORDED_FRAME, RECORDED_STEP } from "../../../base/kinds.ts";
import { SectionMemory } from "../../../memory/section-memory.ts";
import { SECTION_BYTES, type SectionParser } from "../../../storage/format/section.ts";
import { faultOf } from "../../../storage/log/scan.ts";
import { fileOf } from "../../../storage/log/segment-head.ts";
import { Walk } from "../../../storage/log/walk.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { ENDED, SUCCESS, TERMINATED } from "../../model/recording/contents.ts";
import type { RowForm } from "../../model/recording/row-form.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { FINAL_STEP, type FinalStep } from "../final-step.ts";
import type { ReadEpisode } from "../reader.ts";
import { EpisodeColumns } from "./episode-columns.ts";
import { damaged, type ListedEpisode, type Listing } from "./listed.ts";
import type { PendingFrames } from "./read-frames.ts";
import type { RecordingFolder } from "./recording-folder.ts";
import { readSteps } from "./step-form.ts";

export interface EpisodesOptions {
  readonly listing: Listing;
  readonly form: RowForm;
  readonly stepSpec: StepSpec;
  readonly frames: PendingFrames;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** @param first number of the first one, without those that were discarded @throws RldsError CORRUPT, UNSUPPORTED where one needs more than maxBytes; with file, episode and step */
export async function* episodesOf<S>(folder: RecordingFolder, first: number, options: EpisodesOptions): AsyncGenerator<ReadEpisode<S>, void, undefined> {
  const { segments, run, episodes } = options.listing;
  const memory = new SectionMemory();
  const open = new OpenEpisode(folder, first, options);
  const begin = episodes[first]?.segment ?? segments.length;
  try {
    for (const { id, bytes, sum } of segments.slice(begin)) {
      options.signal?.throwIfAborted();
      await folder.ready(id);
      const walk = new Walk(folder.directory, id, memory, bytes);
      try {
        while (walk.next()) {
          const ended = open.section(walk.sections, id);
          // Nothing is waited for that is there.
          if (ended instanceof Promise) await ended;
          for (const episode of open.ended.splice(0)) yield episode as ReadEpisode<S>;
          if (open.isDone) return;
        }
        const fault = id === segments.at(-1)?.id ? undefined : faultOf(walk, run, sum);
        if (fault !== undefined) throw damaged(id, walk.faultAt ?? walk.sections.end, fault);
      } finally {
        walk.close();
      }
      await folder.letGo();
    }
    open.end();
    for (const episode of open.ended.splice(0)) yield episode as ReadEpisode<S>;
  } finally {
    await folder.letGo();
  }
}

/** The episode whose steps come. */
class OpenEpisode {
  /** Whole episodes, to be handed on. */
  readonly ended: ReadEpisode[] = [];
  readonly #folder: RecordingFolder;
  readonly #options: EpisodesOptions;
  #next: number;
  #columns: EpisodeColumns | undefined;
  #last: FinalStep = "transition";

  constructor(folder: RecordingFolder, next: number, options: EpisodesOptions) {
    this.#folder = folder;
    this.#next = next;
    this.#options = options;
  }

  get isDone(): boolean {
    return this.#wanted === undefined;
  }

  get #wanted(): ListedEpisode | undefined {
    return this.#options.listing.episodes[this.#next];
  }

  /** Takes the section that was found; a promise where a file must be read first. @throws RldsError CORRUPT */
  section({ kind, id, payload, from }: SectionParser, segment: number): Promise<void> | undefined {
    const { frames } = this.#options;
    const place = { file: fileOf(segment), offset: from };
    if (kind === RECORDED_FRAME) return this.#tried(place, () => frames.came(id, payload));
    if (kind !== RECORDED_STEP && kind !== RECORDED_FINAL && kind !== RECORDED_END) return undefined;
    // One that was cut ends where the next one begins.
    while (this.#wanted !== undefined && this.#wanted.number < id) this.end();
    if (this.#wanted?.number !== id) {
      frames.forget();
      return undefined;
    }
    if (kind === RECORDED_END) {
      this.end();
      return undefined;
    }
    const columns = this.#begun(this.#wanted, place);
    this.#last = kind === RECORDED_FINAL ? "observation" : "transition";
    const at = { ...place, episode: this.#next, step: columns.length };
    const { steps } = this.#wanted;
    if (columns.length === steps) throw new RldsError("CORRUPT", `the episode has more than the ${steps} steps that it is said to have`, at);
    if (!frames.areBeside) return this.#tried(at, () => columns.add(payload, frames.pixels()));
    const row = payload.slice();
    return this.#added(at, columns, row, id);
  }

  /** The episode that was wanted is whole. @throws RldsError CORRUPT where it is another one than was listed */
  end(): void {
    const wanted = this.#wanted;
    if (wanted === undefined) return;
    const { form, stepSpec } = this.#options;
    const columns = this.#columns ?? new EpisodeColumns(form, 1);
    const { length } = columns;
    if (length !== wanted.steps || length === 0)
      throw new RldsError("CORRUPT", `the episode has ${length} steps, and is said to have ${wanted.steps}`, { episode: this.#next });
    const has = (flag: number) => (wanted.flags & flag) !== 0;
    const steps = readSteps<ReadEpisode["steps"] extends { at(i: number): infer S } ? S : never>(stepSpec, columns.taken(), length, has(TERMINATED));
    this.ended.push({ task: wanted.task, success: has(SUCCESS), finished: has(ENDED), [FINAL_STEP]: this.#last, steps });
    this.#columns = undefined;
    this.#next++;
  }

  #begun({ steps, segment }: ListedEpisode, place: object): EpisodeColumns {
    if (this.#columns !== undefined) return this.#columns;
    const { form, maxBytes, listing } = this.#options;
    const there = listing.segments.slice(segment).reduce((sum, each) => sum + each.bytes, 0);
    if (steps * SECTION_BYTES > there)
      throw new RldsError("CORRUPT", `the episode is said to have ${steps} steps, and the files have ${there} bytes for it`, {
        ...place,
        episode: this.#next,
        step: 0,
      });
    const bytes = steps * EpisodeColumns.stepBytes(form);
    const tooLarge = (why: string, cause?: unknown) =>
      new RldsError("UNSUPPORTED", `the episode's ${steps} steps take ${bytes} bytes in memory, ${why}`, { episode: this.#next }, { cause });
    if (bytes > maxBytes) throw tooLarge(`more than the ${maxBytes} that maxBytes allows: give a larger one`);
    try {
      this.#columns = new EpisodeColumns(form, steps);
    } catch (error) {
      throw tooLarge("which this machine does not give: record shorter episodes", error);
    }
    return this.#columns;
  }

  async #added(place: object, columns: EpisodeColumns, row: Uint8Array, episode: number): Promise<void> {
    try {
      const pixels = await this.#options.frames.fromFiles(this.#folder, episode, columns.length);
      columns.add(row, pixels);
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      throw placed(error, place);
    }
  }

  #tried(place: object, call: () => void): undefined {
    try {
      call();
    } catch (error) {
      throw placed(error, place);
    }
  }
}

/** What is damaged; a file that cannot be read is something else, and says so itself. */
function placed(error: unknown, place: object): ReplayError {
  return error instanceof ReplayError ? error : new RldsError("CORRUPT", (error as Error).message, place, { cause: error });
}
