/**
 * Describes the content of a segment as an ordered list of parts of episodes. The next segment starts with this description, so the content of a segment is
 * known without reading the segment.
 */
import { corrupt } from "../../../base/error.ts";
import { decodeTagged } from "../../../storage/decode.ts";
import { encodeTagged } from "../../../storage/encode.ts";

/** The beginning of every CORRUPT message in this file. */
const CONTRADICTION = "the recording is inconsistent";

/** The bits in the flags of a part. */
export const ENDED = 1;
export const SUCCESS = 2;
export const TERMINATED = 4;
export const DISCARDED = 8;
const ALL = 15;

export interface EpisodePart {
  readonly episode: number;
  /** The number of steps in this segment. The final observation counts as a step. */
  steps: number;
  /** The flags of the part, which are 0 until the part has ended. */
  flags: number;
  task: string;
}

export interface End {
  readonly flags: number;
  readonly task: string;
}

export function endBytes({ flags, task }: End): Uint8Array {
  return encodeTagged({ flags, task }, "end");
}

/** Parses the end of an episode. @throws ReplayError CORRUPT if it is invalid */
export function endOf(bytes: Uint8Array): End {
  const { flags, task } = (decodeTagged(bytes) ?? {}) as Partial<End>;
  if (!isFlags(flags) || (flags & ENDED) === 0 || typeof task !== "string") throw corrupt(CONTRADICTION, "the end of an episode is invalid");
  return { flags, task };
}

/** The progress of a recording at a boundary between two segments. */
export interface Progress {
  /** The number of closed episodes, without discarded episodes. */
  readonly kept: number;
  /** The number of the open episode, or of the next episode if no episode is open. */
  readonly episode: number;
  /** The number of steps in the open episode, or 0 if no episode is open. */
  readonly length: number;
}

const START: Progress = { kept: 0, episode: 0, length: 0 };

export class Contents {
  readonly parts: EpisodePart[] = [];
  readonly #start: Progress;
  /** The state at the mark. It consists of the number of parts, and the steps, the flags and the task of the last part. */
  #count = 0;
  #steps = 0;
  #flags = 0;
  #task = "";

  constructor(start = START) {
    this.#start = start;
  }

  /** Adds a step. @throws ReplayError CORRUPT if its episode cannot continue here */
  step(episode: number): void {
    this.#part(episode).steps++;
  }

  /** Adds the end of an episode. @throws ReplayError CORRUPT if the episode cannot end here */
  end(episode: number, { flags, task }: End): void {
    const part = this.#part(episode);
    part.flags = flags;
    part.task = task;
  }

  /** Marks the state that `takeBack` restores. */
  mark(): void {
    const last = this.parts.at(-1);
    this.#count = this.parts.length;
    this.#steps = last?.steps ?? 0;
    this.#flags = last?.flags ?? 0;
    this.#task = last?.task ?? "";
  }

  takeBack(): void {
    this.parts.length = this.#count;
    const last = this.parts.at(-1);
    if (last === undefined) return;
    last.steps = this.#steps;
    last.flags = this.#flags;
    last.task = this.#task;
  }

  /**
   * Returns the part of an episode, or adds a new part. If the previous episode is still open when another episode begins, the previous episode was cut off.
   */
  #part(episode: number): EpisodePart {
    const last = this.parts.at(-1);
    if (last?.episode === episode && last.flags === 0) return last;
    const { length, episode: first } = this.#start;
    const isNext = last === undefined ? episode === first || (length > 0 && episode === first + 1) : episode === last.episode + 1;
    if (!isNext)
      throw corrupt(CONTRADICTION, `the next step must belong to episode ${last === undefined ? first : last.episode + 1}, got a step of episode ${episode}`);
    const part = { episode, steps: 0, flags: 0, task: "" };
    this.parts.push(part);
    return part;
  }

  /** The progress at the end of the segment. */
  get after(): Progress {
    const { parts } = this;
    const { kept, episode, length } = this.#start;
    const [first, last] = [parts[0], parts.at(-1)];
    if (first === undefined || last === undefined) return this.#start;
    const isContinued = length > 0 && first.episode === episode;
    const truncatedCount = Number(length > 0 && !isContinued);
    const closed = parts.filter((part) => (part.flags & DISCARDED) === 0 && (part.flags !== 0 || part !== last)).length;
    const isOpen = last.flags === 0;
    const episodeLength = last.steps + (first === last && isContinued ? length : 0);
    return { kept: kept + truncatedCount + closed, episode: last.episode + Number(!isOpen), length: isOpen ? episodeLength : 0 };
  }

  bytes(): Uint8Array {
    const { parts } = this;
    const tasks = [...new Set(parts.map(({ task }) => task))];
    const numberOf = new Map(tasks.map((task, i) => [task, i]));
    return encodeTagged(
      {
        before: this.#start,
        first: parts[0]?.episode ?? 0,
        steps: Uint32Array.from(parts, ({ steps }) => steps),
        flags: Uint8Array.from(parts, ({ flags }) => flags),
        task: Uint32Array.from(parts, ({ task }) => numberOf.get(task) as number),
        tasks,
      },
      "index",
    );
  }

  /** Parses a description. @throws ReplayError CORRUPT if it is invalid */
  static of(bytes: Uint8Array): Contents {
    const { before: start, first, steps, flags, task, tasks } = (decodeTagged(bytes) ?? {}) as { [name: string]: unknown };
    const isWhole =
      isProgress(start) &&
      isCount(first) &&
      steps instanceof Uint32Array &&
      flags instanceof Uint8Array &&
      task instanceof Uint32Array &&
      flags.length === steps.length &&
      task.length === steps.length &&
      Array.isArray(tasks) &&
      tasks.every((text) => typeof text === "string") &&
      flags.every(isFlags) &&
      task.every((number) => number < tasks.length);
    if (!isWhole) throw corrupt(CONTRADICTION, "a segment's index is invalid");
    const contents = new Contents(start);
    for (let i = 0; i < steps.length; i++)
      contents.parts.push({ episode: first + i, steps: steps[i] as number, flags: flags[i] as number, task: tasks[task[i] as number] as string });
    return contents;
  }
}

function isProgress(value: unknown): value is Progress {
  const { kept, episode, length } = (value ?? {}) as Partial<Progress>;
  return isCount(kept) && isCount(episode) && isCount(length);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
}

function isFlags(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= ALL;
}
