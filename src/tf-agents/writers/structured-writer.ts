/** Implements a writer that creates items automatically, from patterns over its last steps. Corresponds to `StructuredWriter` of Reverb. */
import { hideFrames } from "../../base/stack-trace.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import { allOf, type Room, type SinkKind, type StepSink } from "../../tables/step-sink.ts";
import { compileConfig } from "../patterns/compile-config.ts";
import { type Config, mustBeConfigs } from "../patterns/config.ts";
import { type Fields, isPartial, type PartOf } from "./fields.ts";
import { type EndEpisodeOptions, EpisodeEnds, ItemWriter } from "./item-writer.ts";
import { Structure } from "./structure.ts";

export class StructuredWriter<S extends Spec = Spec, K extends SinkKind = "process"> extends ItemWriter<K> {
  readonly configs: readonly Config[];
  readonly #fields: Fields<S>;
  readonly #sink: StepSink;
  readonly #structure: Structure<S>;
  readonly #ends: EpisodeEnds;

  /**
   * Called by `client.structuredWriter`.
   * @param open opens the sink, which keeps the given number of steps and is closed with this writer
   * @throws TypeError, RangeError if a config is invalid
   * @throws ReplayError NOT_FOUND if a table does not exist. With a server, thrown only if the server's tables are already known
   * @throws ReplayError SPEC_MISMATCH if the configs do not match the spec or the table's signature. With a server, thrown only if the table is already known
   */
  constructor(fields: Fields<S>, configs: readonly Config[], open: (keep: number) => StepSink) {
    hideFrames(new.target);
    mustBeConfigs(configs);
    const patterns = configs.map((config, i) => compileConfig(config, fields.leaves, `configs[${i}]`));
    const sink = open(Math.max(...patterns.map(({ reach }) => reach)));
    super(sink);
    try {
      sink.check();
      sink.prepare(patterns);
    } catch (error) {
      sink.close();
      throw error;
    }
    this.configs = Object.freeze([...configs]);
    this.#fields = fields;
    this.#sink = sink;
    this.#structure = new Structure<S>(patterns, fields);
    this.#ends = new EpisodeEnds(sink, true);
  }

  /** Whether the last append left its step open. */
  get stepIsOpen(): boolean {
    return this.#sink.open !== undefined;
  }

  /**
   * Appends a step, or a part of a step, and creates an item for each config that then applies, at most one per config and step. A field that is null has no
   * value, but all steps must have the same fields as the first step. A whole step to which no config applies costs as much as `append` of a trajectory writer.
   * If the call throws, nothing has changed, except that the step is stored if memory ran out for an item. If a promise rejects and was not read, the next
   * `flush` throws its error. Costs O(bytes + configs + items).
   * @param options.partialStep leaves the step open, so the next append continues the step
   * @returns undefined. With a server, returns a promise that resolves when the tables of the items are known and another item may be in flight
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec, or if an earlier append has already set a field
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError RATE_LIMITED if too many items already wait
   * @throws ReplayError OUT_OF_TURN while `endEpisode` waits
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   * @throws ReplayError NOT_FOUND from the promise if the table of the first item does not exist on the server
   * @throws ReplayError SPEC_MISMATCH from the promise if the first item of a table does not fit its signature on the server
   */
  append(step: PartOf<StepOf<S>>, options?: { readonly partialStep?: boolean }): Room<K> {
    this.#ends.check();
    const partialStep = options === undefined ? false : isPartial(options);
    const sink = this.#sink;
    const values = this.#fields.take(step);
    const structure = this.#structure;
    const matchCount = structure.match(step, values, sink.open, sink.episodeSteps);
    if (matchCount > 0) sink.admit(structure.matcher.matches, matchCount);
    sink.append(values, step, partialStep);
    structure.push();
    return (matchCount > 0 ? this.#apply(matchCount) : undefined) as Room<K>;
  }

  /**
   * Ends the episode, and the open step if there is one, after the configs with end conditions have created their items. With a time limit or a signal, the
   * episode ends when all items of this writer are in their tables. If this wait fails, the episode has not ended, but the items that its end created exist. If
   * the call throws, nothing has changed.
   * @returns `undefined` if no item waits for a rate limiter, otherwise a promise that resolves when no item waits. With a server and without a limit, returns
   * the same as `append`. If a server rejects an item later and no promise reports it, `flush` throws
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError CLOSED after the writer was closed
   * @throws the error that ended the stream to a server
   * @throws the signal's reason if the signal aborts
   * @throws ReplayError RATE_LIMITED if too many items already wait
   */
  endEpisode(options: EndEpisodeOptions = {}): Promise<void> | undefined {
    this.#ends.check();
    const { clears, wait } = this.#ends.options(options);
    wait.signal?.throwIfAborted();
    const { matcher } = this.#structure;
    const matchCount = matcher.end();
    this.#sink.admit(matcher.matches, matchCount);
    const room = this.#apply(matchCount);
    const end = () => {
      this.#sink.endEpisode(clears);
      if (clears) matcher.clear();
    };
    return this.#ends.end(wait, end, room);
  }

  /** Creates the items of the matcher's first `matchCount` matches. Allocates nothing, unless an item has to wait for room. */
  #apply(matchCount: number): Promise<void> | undefined {
    const { matcher } = this.#structure;
    let rooms: Promise<void>[] | undefined;
    for (let i = 0; i < matchCount; i++) {
      const k = matcher.matches[i] as number;
      const room = this.#sink.insert(k, matcher.priority(k));
      matcher.markApplied(k);
      if (room === undefined) continue;
      rooms ??= [];
      rooms.push(room);
    }
    return rooms && allOf(rooms);
  }
}
