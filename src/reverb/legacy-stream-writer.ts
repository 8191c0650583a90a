/** Items of the last steps, sent to a server in chunks of all fields. Reverb's older `Writer`, as reprise/agents has it for tables of this process. */

import { finite, integer, mustBe } from "../base/error.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { isList } from "../schema/numbers.ts";
import type { ColumnsOf, Spec, StepOf } from "../schema/spec.ts";
import type { PartOf, Values } from "../tf-agents/writers/fields.ts";
import { alike, type checkLegacy } from "../tf-agents/writers/legacy-options.ts";
import { mustBeTableName } from "../tf-agents/writers/step-client.ts";
import { type StepValue, stepValue } from "./step-values.ts";
import { type HeldColumn, type Inside, insideOf, type StreamWriter, shapeOf } from "./stream-writer.ts";

/** How long its items are, and its chunks. */
type Lengths = Pick<ReturnType<typeof checkLegacy>, "maxSequenceLength" | "chunkLength">;

export class LegacyStreamWriter<S extends Spec = Spec> {
  readonly #options: Lengths;
  readonly #writer: StreamWriter<S>;
  readonly #inside: Inside<S>;
  /** The fields of the first step, which all others must have. */
  #given: readonly boolean[] | undefined;
  /** The steps of the chunk to come. */
  #steps = 0;

  /** Made by `client.legacyWriter`. @param writer keeps steps until the last item that may wait for them has gone; it is closed with this */
  constructor(options: Lengths, writer: StreamWriter<S>) {
    this.#options = options;
    this.#writer = writer;
    this.#inside = insideOf(writer);
  }

  /**
   * Appends a step. The first one decides which fields of the spec there are. O(bytes)
   * @returns `undefined`, or a promise of room where a chunk is full, and too many items of it are on their way
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA. Nothing changed then
   */
  append(step: PartOf<StepOf<S>>): Promise<void> | undefined {
    this.#inside.check();
    const { fields } = this.#inside;
    const values = fields.take(step);
    const given = alike(fields, values, this.#given);
    this.#inside.append(values, false);
    this.#given = given;
    return this.#count();
  }

  /** Appends steps, each field with a leading dimension of time. All of it or nothing. O(bytes) @returns, throws as `append` */
  appendSequence(sequence: PartOf<ColumnsOf<S>>): Promise<void> | undefined {
    this.#inside.check();
    const { fields } = this.#inside;
    const values = fields.take(sequence);
    const given = alike(fields, values, this.#given);
    const columns = fields.leaves.filter((_, i) => given[i]);
    const [{ index, size }] = columns as [PlacedLeaf];
    for (const { index, path } of columns) if (!isList(values[index])) throw mustBe("SPEC_MISMATCH", path || "sequence", "a column of steps", values[index]);
    const first = values[index] as ArrayLike<unknown>;
    // A flat array has all steps in a row.
    const steps = isList(first[0]) || typeof first[0] === "object" ? first.length : first.length / size;
    if (!Number.isInteger(steps) || steps < 1) throw mustBe("SPEC_MISMATCH", columns[0]?.path || "sequence", "a column of at least one step", first);
    const checked = values.map((column, i) => {
      const leaf = fields.leaves[i] as PlacedLeaf;
      return column === undefined ? undefined : stepValue({ ...leaf, shape: [steps, ...leaf.shape], size: steps * leaf.size }, column);
    });
    let room: Promise<void> | undefined;
    for (let t = 0; t < steps; t++) {
      const step = checked.map((column, i) => column && valueAt(column, fields.leaves[i] as PlacedLeaf, t));
      this.#inside.append(step as Values, false);
      room = this.#count() ?? room;
    }
    this.#given = given;
    return room;
  }

  /**
   * Makes an item of the last `numTimesteps` steps. As with Reverb's own it is sent when the chunk with its last step is full: after `chunkLength` steps, or by `flush`. O(numTimesteps)
   * @returns `undefined`, or a promise: until its table is known, and where too many items are on their way until there is room
   * @throws RangeError, TypeError · ReplayError NOT_FOUND, SPEC_MISMATCH for what does not fit the table's signature; of a table that was not known yet by the promise and
   * by the next `flush`
   */
  createItem(table: string, numTimesteps: number, priority: number): Promise<void> | undefined {
    const inside = this.#inside;
    inside.check();
    mustBeTableName(table);
    const { total, fields } = inside;
    const length = integer("numTimesteps", numTimesteps, 1, Math.min(total, this.#options.maxSequenceLength));
    finite("priority", priority, 0);
    const steps = Array.from({ length }, (_, k) => total - length + k);
    const columns = fields.leaves.filter((_, i) => this.#given?.[i]).map((leaf): HeldColumn => ({ leaf, steps, isSqueezed: false }));
    inside.fits(table, columns.map(shapeOf));
    if (this.#steps === 0) return inside.insert(table, priority, columns);
    inside.hold(() => inside.insert(table, priority, columns));
    return undefined;
  }

  /** Sends all items, and waits until they are confirmed. @throws as a stream writer's `flush` */
  flush(options: WaitOptions = {}): Promise<void> {
    this.#steps = 0;
    return this.#writer.flush(options);
  }

  /** Sends all items, and lets the steps at hand go: the stream ends when they are confirmed, or with the client. */
  close(): void {
    this.#writer.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Waits until all items are confirmed, then closes. @throws as `flush` */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#writer[Symbol.asyncDispose]();
  }

  #count(): Promise<void> | undefined {
    this.#steps++;
    if (this.#steps < this.#options.chunkLength) return undefined;
    this.#steps = 0;
    return this.#inside.complete();
  }
}

/** A step of a column. */
function valueAt(column: StepValue, { size }: PlacedLeaf, t: number): unknown {
  return Array.isArray(column) ? column.slice(t * size, (t + 1) * size) : column.subarray(t * size, (t + 1) * size);
}
