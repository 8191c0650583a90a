/** Writes items that consist of the last steps with all of their fields. Corresponds to the older `Writer` of Reverb. */

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
  /** The fields of the first step. All later steps must have the same fields. */
  #present: readonly boolean[] | undefined;

  /** Called by `client.legacyWriter`. @param sink the target of the steps, which is closed with this writer */
  constructor(fields: Fields<S>, maxSequenceLength: number, sink: StepSink) {
    hideFrames(new.target);
    super(sink);
    this.#fields = fields;
    this.#maxSequenceLength = maxSequenceLength;
    this.#sink = sink;
  }

  /**
   * Appends a step. The first step decides which fields of the spec are present. Costs O(bytes). If the call throws, nothing has changed.
   * @returns undefined. With a server, if a chunk is full and too many items are in flight, returns a promise that resolves when there is room
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  append(step: PartOf<StepOf<S>>): Room<K> {
    this.#sink.check();
    const values = this.#fields.take(step);
    const present = this.#fieldsOf(values);
    const room = this.#sink.append(values, step, false);
    this.#present = present;
    return room as Room<K>;
  }

  /**
   * Appends steps, each field with a leading time dimension. If one step is invalid, none is appended. Costs O(bytes).
   * @returns the same as `append`
   * @throws the errors of `append`
   */
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
   * Creates an item of the last `numTimesteps` steps. As in Reverb, a server receives the item when the chunk with its last step is full: after `chunkLength`
   * steps, or at `flush`. Costs O(numTimesteps + log size).
   * @returns `undefined`, or a promise. In this process, the promise resolves when the rate limiter allows the item. With a server, it resolves when the table
   * is known and another item may be in flight.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError NOT_FOUND if the table does not exist
   * @throws ReplayError SPEC_MISMATCH if the item does not fit the table's signature. If a server's table is not known yet, the promise rejects instead. If the
   * promise is not awaited, the next `flush` throws
   * @throws ReplayError RATE_LIMITED if too many items are waiting
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
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

  /**
   * Returns which fields are present. They must be the same as in the earlier steps. @throws ReplayError SPEC_MISMATCH if the step has other fields, or no
   * fields
   */
  #fieldsOf(values: Values): readonly boolean[] {
    const present = values.map((value) => value !== undefined);
    const wrong = this.#fields.leaves.find((_, i) => present[i] !== (this.#present ?? present)[i]);
    if (wrong !== undefined) throw mustBe("SPEC_MISMATCH", wrong.path || "step", "present in every step or in none", values[wrong.index]);
    if (!present.includes(true)) throw new ReplayError("SPEC_MISMATCH", "step has no fields. Pass at least one field");
    return present;
  }
}
