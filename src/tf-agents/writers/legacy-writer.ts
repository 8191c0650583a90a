/** Items of the last steps, all fields of them. Reverb's older `Writer`. */

import { finite, integer, mustBe, ReplayError } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { isList } from "../../schema/copy-numbers.ts";
import type { ColumnsOf, Spec, StepOf } from "../../schema/spec.ts";
import type { Room, SinkKind, StepSink } from "../../tables/step-sink.ts";
import type { Fields, PartOf, Values } from "./fields.ts";
import { ItemWriter } from "./item-writer.ts";

export class LegacyWriter<S extends Spec = Spec, K extends SinkKind = "process"> extends ItemWriter<K> {
  readonly #fields: Fields<S>;
  readonly #sink: StepSink;
  readonly #maxSequenceLength: number;
  /** The fields of the first step, which all others must have. */
  #present: readonly boolean[] | undefined;

  /** Made by `client.legacyWriter`. @param sink is closed with this */
  constructor(fields: Fields<S>, maxSequenceLength: number, sink: StepSink) {
    hideFrames(new.target);
    super(sink);
    this.#fields = fields;
    this.#maxSequenceLength = maxSequenceLength;
    this.#sink = sink;
  }

  /**
   * Appends a step. The first one decides which fields of the spec there are. O(bytes)
   * @returns nothing; of a server a promise of room if a chunk is full, and too many items of it are on their way
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY. Nothing changed then
   */
  append(step: PartOf<StepOf<S>>): Room<K> {
    this.#sink.check();
    const values = this.#fields.take(step);
    const present = this.#fieldsOf(values);
    const room = this.#sink.append(values, step, false);
    this.#present = present;
    return room as Room<K>;
  }

  /** Appends steps, each field with a leading dimension of time. All of it or nothing. O(bytes) @returns, throws as append */
  appendSequence(sequence: PartOf<ColumnsOf<S>>): Room<K> {
    this.#sink.check();
    const columns = this.#fields.take(sequence);
    const present = this.#fieldsOf(columns);
    const single = this.#fields.leaves.find((_, i) => present[i] && !isList(columns[i]));
    if (single !== undefined) throw mustBe("SPEC_MISMATCH", single.path || "sequence", "a column of steps", columns[single.index]);
    const room = this.#sink.appendColumns(columns);
    this.#present = present;
    return room as Room<K>;
  }

  /**
   * Makes an item of the last `numTimesteps` steps. As with Reverb's own, a server gets it when the chunk with its last step is full: after `chunkLength` steps, or by `flush`.
   * O(numTimesteps + log size)
   * @returns `undefined`, or a promise: until the rate limiter lets the item in; of a server until its table is known, and if too many items are on their way until there is room
   * @throws RangeError, TypeError · ReplayError NOT_FOUND, SPEC_MISMATCH for what does not fit the table's signature, of a server's table that was not known yet by the promise
   * or, if nobody reads that, by the next `flush`; RATE_LIMITED, OUT_OF_MEMORY
   */
  createItem(table: string, numTimesteps: number, priority: number): Promise<void> | undefined {
    const sink = this.#sink;
    sink.check();
    sink.mustKnow(table);
    const length = integer("numTimesteps", numTimesteps, 1, Math.min(sink.total, this.#maxSequenceLength));
    finite("priority", priority, 0);
    const leaves = sink.leaves.filter((_, i) => this.#present?.[i]);
    return sink.createLast(table, length, priority, leaves);
  }

  /** Which fields there are: those of the steps before. @throws ReplayError SPEC_MISMATCH for others, and for none */
  #fieldsOf(values: Values): readonly boolean[] {
    const present = values.map((value) => value !== undefined);
    const wrong = this.#fields.leaves.find((_, i) => present[i] !== (this.#present ?? present)[i]);
    if (wrong !== undefined) throw mustBe("SPEC_MISMATCH", wrong.path || "step", "given in every step or in none", values[wrong.index]);
    if (!present.includes(true)) throw new ReplayError("SPEC_MISMATCH", "step has no fields: give at least one");
    return present;
  }
}
