/** Items of any steps at hand, each column with steps of its own. Reverb's `TrajectoryWriter`. */

import { finite, flag, integer, onlyKeys } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import type { Flushed, FlushOptions, SinkKind, StepSink } from "../../tables/step-sink.ts";
import { type Fields, isPartial, type KeepOptions, type PartOf } from "./fields.ts";
import { History, type HistoryOf } from "./history.ts";
import { ColumnReader, type ItemColumns } from "./item-columns.ts";
import { type EndEpisodeOptions, EpisodeEnds, ItemWriter } from "./item-writer.ts";

export interface TrajectoryWriterOptions {
  /** Steps that each field is kept for, unless `configure` says otherwise: as far back as an item may reach. */
  readonly numKeepAliveRefs: number;
  /** Whether items must fit their table's signature, where it has one. Default: true. */
  readonly validateItems?: boolean;
}

/** The options with their defaults. @throws TypeError, RangeError */
export function checkTrajectory(options: TrajectoryWriterOptions) {
  const { numKeepAliveRefs, validateItems = true } = onlyKeys("options", options, "numKeepAliveRefs, validateItems");
  integer("numKeepAliveRefs", numKeepAliveRefs, 1, MAX_LENGTH);
  return { keep: numKeepAliveRefs, validates: flag("validateItems", validateItems) === 1 };
}

export class TrajectoryWriter<S extends Spec = Spec, K extends SinkKind = "process"> extends ItemWriter<K> {
  readonly #fields: Fields<S>;
  readonly #sink: StepSink;
  readonly #history: History;
  readonly #reader: ColumnReader;
  readonly #ends: EpisodeEnds;

  /** Made by `client.trajectoryWriter`. @param keep steps that each field is kept for @param sink is closed with this */
  constructor(fields: Fields<S>, keep: number, sink: StepSink) {
    hideFrames(new.target);
    super(sink);
    this.#fields = fields;
    this.#sink = sink;
    this.#history = new History(fields.spec, fields.leaves, keep, (leaf, steps) => sink.read(leaf, steps));
    this.#reader = new ColumnReader(this.#history);
    this.#ends = new EpisodeEnds(sink, sink.isExclusiveAtEnd);
  }

  /** The steps at hand, nested as the spec, with the fields that were given so far. @throws ReplayError EMPTY before the first step */
  get history(): HistoryOf<S> {
    return this.#history.columns as HistoryOf<S>;
  }

  /** Steps of the open episode, without one that is not complete. */
  get episodeSteps(): number {
    return this.#sink.episodeSteps;
  }

  /**
   * How long one field is kept. After the first step, steps that are gone by then stay so.
   * @param path the keys that lead to the field
   * @param options.maxChunkLength steps that one chunk of the field may have on a server; in this process checked, and without effect
   * @throws RangeError, TypeError · ReplayError NOT_FOUND for a field that the spec has not
   */
  configure(path: readonly (string | number)[], options: KeepOptions): void {
    this.#ends.check();
    const { leaf, numKeepAliveRefs, maxChunkLength } = this.#fields.resolveKeepOptions(path, options);
    const oldest = this.#sink.keep(leaf, numKeepAliveRefs, this.#history.longest(leaf, numKeepAliveRefs), maxChunkLength);
    this.#history.keepLeaf(leaf, numKeepAliveRefs, oldest);
  }

  /**
   * Appends a step, whole or without some of its fields. Nothing is sent to a server before an item needs it. O(bytes)
   * @param options.partialStep leaves the step open: the next append goes on with it
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for another form, or a field that an earlier append of the step has set; OUT_OF_MEMORY. Nothing changed then
   */
  append(step: PartOf<StepOf<S>>, options: { readonly partialStep?: boolean } = {}): void {
    this.#ends.check();
    const partialStep = isPartial(options);
    const values = this.#fields.take(step);
    const isNew = this.#sink.open === undefined;
    this.#sink.append(values, step, partialStep);
    if (isNew) this.#history.add(values);
    else this.#history.extend(values);
  }

  /**
   * Makes an item of columns of this writer's history. It holds the steps from the oldest to the newest that they name; batches show it by its columns' names, dotted
   * where they nest. Any number of sets of columns may be in use. To a server it sends the steps that the server does not have yet. O(columns + steps between + log size)
   * @returns `undefined`, or a promise: until the rate limiter lets the item in; of a server until its table is known, and if too many items are on their way until there is
   * room. `flush` waits for confirmations
   * @throws RangeError for a column without steps, or with one that is not at hand; a priority that is none · ReplayError NOT_FOUND, SPEC_MISMATCH for what does not fit
   * the table's signature, of a server by the promise for the first item of a table or, if nobody reads that, by the next `flush`; RATE_LIMITED, OUT_OF_MEMORY
   */
  createItem(table: string, priority: number, trajectory: ItemColumns): Promise<void> | undefined {
    this.#ends.check();
    this.#sink.mustKnow(table);
    finite("priority", priority, 0);
    return this.#sink.createItem(table, priority, this.#reader.read(trajectory));
  }

  /**
   * Ends the episode; a step that is open ends with it. With a time limit or a signal it ends when all items of this writer are in their tables, and till then every other
   * call is OUT_OF_TURN in this process.
   * @param options.clearBuffers whether no later item reaches back over the end. Default: true
   * @returns `undefined` if it has ended and, in this process, no item waits for a rate limiter; else a promise. Without a limit it tells nothing of items that a server
   * refuses: `flush` does
   * @throws ReplayError TIMEOUT, CLOSED, what ended the stream to a server, or the signal's reason; then the episode goes on, with all its steps
   */
  endEpisode(options: EndEpisodeOptions = {}): Promise<void> | undefined {
    this.#ends.check();
    const { clears, wait } = this.#ends.options(options);
    return this.#ends.end(wait, () => {
      this.#sink.endEpisode(clears);
      if (clears) this.#history.clear();
    });
  }

  override flush(options: FlushOptions = {}): Flushed<K> {
    if (this.#sink.isExclusiveAtEnd) this.#ends.check();
    return super.flush(options);
  }
}
