/** Implements a writer of items whose columns can each select any available steps. Corresponds to `TrajectoryWriter` of Reverb. */

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
  /** The number of steps for which each field is kept, unless `configure` sets another number. Items can reach back this far. */
  readonly numKeepAliveRefs: number;
  /** Whether items must fit their table's signature, if the table has one. Default: true. */
  readonly validateItems?: boolean;
}

/** Returns the checked options with their defaults. @throws TypeError, RangeError if an option is invalid */
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

  /**
   * Called by `client.trajectoryWriter`.
   * @param keep the number of steps for which each field is kept
   * @param sink the target of the steps, which is closed with this writer
   */
  constructor(fields: Fields<S>, keep: number, sink: StepSink) {
    hideFrames(new.target);
    super(sink);
    this.#fields = fields;
    this.#sink = sink;
    this.#history = new History(fields.spec, fields.leaves, keep, (leaf, steps) => sink.read(leaf, steps));
    this.#reader = new ColumnReader(this.#history);
    this.#ends = new EpisodeEnds(sink, sink.isExclusiveAtEnd);
  }

  /** The available steps, nested like the spec, with the fields that were set so far. @throws ReplayError EMPTY before the first step */
  get history(): HistoryOf<S> {
    return this.#history.columns as HistoryOf<S>;
  }

  /** The number of complete steps of the open episode. */
  get episodeSteps(): number {
    return this.#sink.episodeSteps;
  }

  /**
   * Sets the number of steps for which one field is kept. Steps that are already dropped are not restored.
   * @param path the keys that lead to the field
   * @param options.maxChunkLength the maximum number of steps per chunk of the field on a server; in this process, the value is checked but has no effect
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError NOT_FOUND if the field is not in the spec
   */
  configure(path: readonly (string | number)[], options: KeepOptions): void {
    this.#ends.check();
    const { leaf, numKeepAliveRefs, maxChunkLength } = this.#fields.resolveKeepOptions(path, options);
    const oldest = this.#sink.keep(leaf, numKeepAliveRefs, this.#history.longest(leaf, numKeepAliveRefs), maxChunkLength);
    this.#history.keepLeaf(leaf, numKeepAliveRefs, oldest);
  }

  /**
   * Appends a step, whole or without some of its fields. Nothing is sent to a server before an item needs it. Costs O(bytes). If the call throws, nothing has
   * changed.
   * @param options.partialStep leaves the step open, so the next append continues the step
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec, or if an earlier append has already set a field
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
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
   * Creates an item from columns of this writer's history. The item spans all steps from the oldest to the newest step in the columns. Batches name the item's
   * columns by their dotted paths. A Replay supports items with up to 65,535 different combinations of column names and fields. A server receives only the
   * steps that it does not have yet. Costs O(columns + spanned steps + log size).
   * @returns `undefined`, or a promise. In this process, the promise resolves when the rate limiter allows the item. With a server, it resolves when the table
   * is known and another item may be in flight. `flush` waits for confirmations
   * @throws RangeError if a column has no steps, if one of its steps is not available, or if the priority is invalid
   * @throws ReplayError NOT_FOUND if the table does not exist
   * @throws ReplayError SPEC_MISMATCH if the item does not fit the table's signature. With a server, the promise for the first item of a table rejects instead.
   * If that promise is not awaited, the next `flush` throws
   * @throws ReplayError RATE_LIMITED if too many items are waiting
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  createItem(table: string, priority: number, trajectory: ItemColumns): Promise<void> | undefined {
    this.#ends.check();
    this.#sink.mustKnow(table);
    finite("priority", priority, 0);
    return this.#sink.createItem(table, priority, this.#reader.read(trajectory));
  }

  /**
   * Ends the episode, and the open step if there is one. With a time limit or a signal, the episode ends when all items of this writer are in their tables. In
   * this process, every other call to the writer throws OUT_OF_TURN until then. If the wait fails, the episode continues with all its steps.
   * @param options.clearBuffers whether to prevent later items from reaching back over the end. Default: true
   * @returns `undefined` if the episode has ended and, in this process, no item waits for a rate limiter; otherwise a promise. Without a limit, the promise
   * does not report items that a server rejects, but `flush` does
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError CLOSED after the writer was closed
   * @throws the error that ended the stream to a server
   * @throws the signal's reason if the signal aborts
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
