/** A writer that makes items by itself, of patterns over its last steps. Reverb's `StructuredWriter`. */
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
   * Made by `client.structuredWriter`.
   * @param open makes the sink, which keeps so many steps, and is closed with this
   * @throws TypeError, RangeError · ReplayError NOT_FOUND, SPEC_MISMATCH; of a server for a table that is known by now
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
   * Appends a step, or a part of one, and makes an item of each config that applies then: one a step at most. Of a field that is null there is no value; but all steps must
   * have the same fields as the first one. A step that is whole, and to which nothing applies, costs what a trajectory writer's append does. O(bytes + configs + items)
   * @param options.partialStep leaves the step open: the next append goes on with it
   * @returns nothing; of a server a promise until the table of an item is known, and if too many items are on their way until there is room
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for another form, or a field that an earlier append of the step has set; RATE_LIMITED if too many items wait already;
   * OUT_OF_TURN while `endEpisode` waits; OUT_OF_MEMORY. Nothing changed then; but if memory ran out for an item, the step is there · of a server NOT_FOUND, SPEC_MISMATCH for
   * the first item of a table by the promise or, if nobody reads that, by the next `flush`
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
   * Ends the episode, and a step that is open with it, after the configs for ends have made their items. With a time limit or a signal it ends when all items of this writer
   * are in their tables; if that does not come to be, it has not ended, though the items of its end are made.
   * @returns `undefined` if no item waits for a rate limiter, else a promise until none does; of a server without a limit as `append`. What a server
   * refuses later, and no promise has told, `flush` tells
   * @throws ReplayError TIMEOUT, CLOSED, what ended the stream to a server, or the signal's reason; RATE_LIMITED if too many items wait already, and then nothing has changed
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

  /** Makes the items of the first `due` configs that the matcher has named. Allocates nothing, unless there is room to wait for. */
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
