/** Items of the last steps, all fields of them. Reverb's older `Writer`. */
import { pointAtCallersOf } from "../../base/caller.ts";
import { finite, integer, mustBe, ReplayError } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { Engine } from "../../memory/engine.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";
import { isList } from "../../schema/numbers.ts";
import type { ColumnsOf, Spec, StepOf } from "../../schema/spec.ts";
import type { Writer } from "../../tables/writer.ts";
import { mustFit, type Signature } from "../signature.ts";
import { Fields, type PartOf } from "./fields.ts";
import { alike, checkLegacy, type LegacyWriterOptions } from "./legacy-options.ts";
import { Pending } from "./pending.ts";
import { tableNames } from "./step-client.ts";

export class LegacyWriter<S extends Spec = Spec> {
  readonly #engine: Engine;
  readonly #signatures: (table: string) => Signature | undefined;
  readonly #fields: Fields<S>;
  readonly #pending: Pending;
  readonly #writer: Writer<S, string>;
  readonly #tables: object;
  /** The fields of the first step, which all others must have. */
  #given: readonly boolean[] | undefined;
  #closed = false;

  /** Made by `client.legacyWriter`. @throws RangeError, TypeError */
  constructor(replay: Replay<S, string>, options: LegacyWriterOptions, signatures: (table: string) => Signature | undefined) {
    pointAtCallersOf(new.target);
    const { maxSequenceLength: keep } = checkLegacy(options);
    this.#engine = engineOf(replay);
    this.#signatures = signatures;
    this.#fields = new Fields<S>(this.#engine);
    this.#pending = new Pending(replay as unknown as Replay);
    this.#tables = replay.options.tables;
    this.#writer = replay.writer({ keep, items: [] }) as Writer<S, string>;
  }

  /** Appends a step. The first one decides which fields of the spec there are. O(bytes) @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY */
  append(step: PartOf<StepOf<S>>): void {
    this.#check();
    const values = this.#fields.take(step);
    const given = alike(this.#fields, values, this.#given);
    this.#writer.append(this.#fields.whole(values));
    this.#given = given;
  }

  /** Appends steps, each field with a leading dimension of time. O(bytes) @throws as append */
  appendSequence(sequence: PartOf<ColumnsOf<S>>): void {
    this.#check();
    const values = this.#fields.take(sequence);
    const given = alike(this.#fields, values, this.#given);
    const single = this.#fields.leaves.find((_, i) => given[i] && !isList(values[i]));
    if (single !== undefined) throw mustBe("SPEC_MISMATCH", single.path || "sequence", "a column of steps", values[single.index]);
    const leaf = given.indexOf(true);
    const column = values[leaf] as ArrayLike<unknown>;
    const size = this.#fields.leaves[leaf]?.size as number;
    // A flat array has all steps in a row.
    const steps = typeof column?.[0] === "object" ? column.length : column.length / size;
    const columns = values.map((value, i) => value ?? this.#fields.zeros(i, Math.max(Math.ceil(steps), 1)));
    this.#writer.appendColumns(this.#fields.whole(columns) as ColumnsOf<S>);
    this.#given = given;
  }

  /**
   * Makes an item of the last `numTimesteps` steps. O(numTimesteps + log size)
   * @returns `undefined` when it is in the table; a promise where the rate limiter makes it wait
   * @throws RangeError, TypeError · ReplayError NOT_FOUND, SPEC_MISMATCH for what does not fit the table's signature, RATE_LIMITED, OUT_OF_MEMORY
   */
  createItem(table: string, numTimesteps: number, priority: number): Promise<void> | undefined {
    this.#check();
    if (typeof table !== "string" || !Object.hasOwn(this.#tables, table)) tableNames({ knows: () => false }, table);
    const length = integer("numTimesteps", numTimesteps, 1, this.#writer.length);
    finite("priority", priority, 0);
    const leaves = this.#fields.leaves.filter((_, i) => this.#given?.[i]);
    const steps = leaves.map(({ leaf: { dtype }, shape }) => ({ dtype, shape }));
    const shapes = steps.map(({ dtype, shape }) => ({ dtype, shape: [length, ...shape] }));
    mustFit(table, this.#signatures(table), shapes, steps);
    const columns = leaves.length === this.#fields.leaves.length ? {} : { columns: Object.fromEntries(leaves.map(({ path }) => [path, { leaf: path }])) };
    const waits = this.#writer.createItem(table, { length, priority, ...(columns as object) });
    if (waits !== undefined) this.#pending.add(table, this.#writer.lastKey(table));
    return waits;
  }

  /** Waits until none of this writer's items waits for a rate limiter; `undefined` where none does. @throws ReplayError TIMEOUT, or the signal's reason */
  flush(options: WaitOptions = {}): Promise<void> | undefined {
    this.#check();
    return this.#pending.until(0, options);
  }

  /** Lets the steps at hand go. Items stay, also those that wait. */
  close(): void {
    if (!this.#closed) this.#writer.close();
    this.#closed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #check(): void {
    if (this.#closed) throw new ReplayError("CLOSED", "this writer was closed: make a new one with client.legacyWriter()");
    this.#engine.begin();
  }
}
