/** Reads the opened dataset, and stores the results so far. */
import { inspectRlds, openRlds, type ReadEpisode, type RldsReader } from "reprise/rlds";
import type { EpisodeData, EpisodeNews, Found, Given, OpenArgument, Opened, ReadArgument, ReadNews, ReadResult } from "../messages.ts";
import { leafColumns, leafForms } from "../model/columns.ts";
import { Distributions } from "../model/distributions.ts";
import type { EpisodeSummary } from "../model/episode-table.ts";
import { Findings } from "../model/findings.ts";
import { urlOf } from "../model/given.ts";
import { isFilm } from "../model/leaf-kinds.ts";
import { spreadOrder } from "../model/spread-order.ts";
import { summaryOf } from "../model/summary.ts";
import { ByteCount } from "./counted.ts";
import { KeptEpisodes } from "./kept-episodes.ts";
import { countedSource } from "./sources.ts";
import { stoppable } from "./stoppable.ts";
import { namedTexts } from "./texts.ts";

/** The limits on a sample: the fraction of the files' bytes, the total bytes, and the time in milliseconds. */
const SAMPLE_SHARE = 0.03;
const SAMPLE_BYTES = 20 * 2 ** 20;
const SAMPLE_MS = 1200;
/** Datasets of at most this many bytes are read as a whole when they are opened, whatever their format. */
const SMALL = 16 * 2 ** 20;
const KEPT_BYTES = 128 * 2 ** 20;
/** The number of milliseconds between two progress messages. The first messages are sent sooner. */
const NEWS_MS = 250;
/** The number of milliseconds of work between two checks for other requests. */
const TURN_MS = 40;

type Reader = RldsReader<unknown>;

export class Session {
  readonly reader: Reader;
  readonly opened: Opened;
  readonly given: Given;
  readonly #count: ByteCount;
  readonly #read = new Set<number>();
  readonly #distributions = new Distributions();
  readonly #findings = new Findings();
  readonly #kept = new KeptEpisodes(KEPT_BYTES);
  /** The number of waiting requests for an episode. A pass yields to such requests. */
  #asked = 0;

  private constructor(reader: Reader, opened: Opened, given: Given, count: ByteCount) {
    this.reader = reader;
    this.opened = opened;
    this.given = given;
    this.#count = count;
  }

  static async open({ given, split, options = {} }: OpenArgument, signal: AbortSignal): Promise<Session> {
    const count = new ByteCount();
    const { from, bytes } = await countedSource(given, count, signal);
    const reader = await openRlds<unknown>(from, { ...options, signal, ...(split !== undefined && { split }) });
    return new Session(reader, openedOf(reader, bytes), given, count);
  }

  /** Whether the whole dataset is read without a request, because the dataset is small or can only be read as a whole. */
  get isReadAtOnce(): boolean {
    const { indexed, bytes } = this.opened;
    return !indexed || (bytes !== undefined && bytes <= SMALL);
  }

  /** Reads unread episodes, and reports them. Episodes that were read remain available if the call is cancelled. */
  async read({ what }: ReadArgument, signal: AbortSignal, tell: (news: ReadNews) => void): Promise<ReadResult> {
    const pass = new Pass(this.#count, tell);
    const isAll = what === "all" || this.isReadAtOnce;
    try {
      const complete = await (isAll ? this.#all(signal, pass) : this.#sample(signal, pass));
      return { complete };
    } finally {
      pass.tell(this.#known());
    }
  }

  /** @throws RldsError · RangeError if there is no such episode */
  async episode(index: number, signal: AbortSignal, tell: (news: EpisodeNews) => void): Promise<EpisodeData> {
    this.#asked++;
    try {
      const kept = this.#kept.get(index);
      if (kept !== undefined) return kept;
      let at = this.reader.startingAt === undefined ? 0 : index;
      const turn = new Turns();
      for await (const episode of stoppable(this.#from(index), signal)) {
        if (at++ === index) return this.#keep(index, episode);
        if (await turn.passed()) tell({ passed: at });
      }
      throw new RangeError(`the dataset has no episode ${index}, because it has only ${at} episodes`);
    } finally {
      this.#asked--;
    }
  }

  close(): Promise<void> {
    return this.reader.close();
  }

  /** Reads some episodes spread over the dataset, as many as can be read quickly. The first episode is shown before any other request is handled. */
  async #sample(signal: AbortSignal, pass: Pass): Promise<boolean> {
    const room = Math.min(SAMPLE_BYTES, SAMPLE_SHARE * (this.opened.bytes ?? Number.POSITIVE_INFINITY));
    const one = async (index: number) => {
      const before = this.#count.read;
      for await (const episode of stoppable(this.#from(index), signal)) {
        await this.#visit(index, episode, pass);
        break;
      }
      return this.#count.read - before;
    };
    await one(0);
    const lengths = await this.reader.lengths?.();
    pass.tell({ ...this.#known(), lengths });
    const turns = new Turns();
    const start = performance.now();
    const count = lengths?.length ?? this.reader.episodes ?? 1;
    for (const index of spreadOrder(count)) {
      if (this.#read.has(index)) continue;
      const bytes = await one(index);
      await turns.passed();
      // The next episode probably has as many bytes as this one.
      if (this.#count.read + bytes > room || performance.now() - start > SAMPLE_MS) break;
    }
    return this.#read.size >= count;
  }

  /** Reads all episodes in order. */
  async #all(signal: AbortSignal, pass: Pass): Promise<boolean> {
    const turns = new Turns();
    let index = 0;
    for await (const episode of stoppable(this.reader, signal)) {
      if (!this.#read.has(index)) await this.#visit(index, episode, pass);
      index++;
      await turns.passed();
      while (this.#asked > 0 && !signal.aborted) await rest();
      if (pass.isDue) pass.tell(this.#known());
    }
    return true;
  }

  #from(index: number): AsyncIterable<ReadEpisode<unknown>> {
    return this.reader.startingAt?.(index) ?? this.reader;
  }

  async #visit(index: number, episode: ReadEpisode<unknown>, pass: Pass): Promise<void> {
    const { columns, length } = this.#keep(index, episode);
    const report = await inspectRlds(Object.assign([episode], { stepSpec: this.reader.stepSpec }));
    const faults = this.#findings.add(index, report);
    const hasFinal = episode.final_step !== "transition";
    this.#distributions.add(columns, length, hasFinal);
    this.#read.add(index);
    pass.add(summaryOf(index, length, columns, faults, hasFinal));
    if (this.#read.size === 1) pass.tell(this.#known());
  }

  #keep(index: number, episode: ReadEpisode<unknown>): EpisodeData {
    const { steps, ...metadata } = episode;
    const found = { index, length: steps.length, columns: leafColumns(steps.spec, steps.columns), metadata: namedTexts(metadata) };
    this.#kept.add(found);
    return found;
  }

  #known(): { readonly distributions: ReadNews["distributions"]; readonly findings: Found } {
    const { all: groups, faultyEpisodes } = this.#findings;
    return { distributions: this.#distributions.all, findings: { groups, faultyEpisodes, losses: (this.reader.losses ?? []).map(({ reason }) => reason) } };
  }
}

function openedOf(reader: Reader, bytes: number | undefined): Opened {
  const { format, name, stepSpec, metadataSpec, episodes, steps, splits = [], split, about, startingAt } = reader;
  const leaves = leafForms(stepSpec);
  return {
    ...{ format, name: shortName(name), leaves, metadata: leafForms(metadataSpec), episodes, steps, splits, split, bytes },
    about: namedTexts(about),
    indexed: startingAt !== undefined,
    filmable: leaves.some(isFilm),
    fps: typeof about.fps === "number" && about.fps > 0 ? about.fps : undefined,
  };
}

/** Returns the last part of the path of a web address. Returns any other name unchanged. */
function shortName(name: string): string {
  const url = /^https?:/.test(name) ? urlOf(name) : undefined;
  if (url === undefined) return name;
  const { pathname, host } = url;
  const last =
    pathname
      .split("/")
      .filter((part) => part !== "")
      .at(-1) ?? host;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

type Known = Pick<ReadNews, "distributions" | "findings" | "lengths">;

/** Sends the progress of one pass, a few times per second. */
class Pass {
  readonly #count: ByteCount;
  readonly #tell: (news: ReadNews) => void;
  #episodes: EpisodeSummary[] = [];
  #told = Number.NEGATIVE_INFINITY;

  constructor(count: ByteCount, tell: (news: ReadNews) => void) {
    this.#count = count;
    this.#tell = tell;
  }

  get isDue(): boolean {
    return performance.now() - this.#told > NEWS_MS;
  }

  add(summary: EpisodeSummary): void {
    this.#episodes.push(summary);
  }

  tell(known: Known): void {
    this.#tell({ episodes: this.#episodes, bytesRead: this.#count.read, ...known });
    this.#episodes = [];
    this.#told = performance.now();
  }
}

/** Yields to the event loop after some work, so that messages are handled. */
class Turns {
  #since = performance.now();

  /** @returns whether other tasks had a turn */
  async passed(): Promise<boolean> {
    if (performance.now() - this.#since < TURN_MS) return false;
    await rest();
    this.#since = performance.now();
    return true;
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
