/** Single steps, each an episode and an item of its own. Reverb's `Client.insert`. */

import { finite, mustBe, onlyKeys } from "../../error.ts";
import { engineOf, type Replay } from "../../replay.ts";
import type { ColumnsOf, Spec, StepOf } from "../../spec/spec.ts";
import type { WaitOptions } from "../../wait.ts";
import type { Writer } from "../../writer.ts";
import { type Signature, tableNames } from "./client.ts";
import { Fields, type PartOf } from "./fields.ts";
import { mustFit } from "./signature.ts";

/** Longer time-outs go off at once: setTimeout counts in 31 bits. */
const MAX_MS = 0x7fffffff;

export class Inserter<S extends Spec = Spec> {
  readonly #replay: Replay<S, string>;
  readonly #fields: Fields<S>;
  readonly #signatures: (table: string) => Signature | undefined;
  /** A writer for each set of tables and fields. */
  readonly #writers = new Map<string, Writer<S, string>>();

  constructor(replay: Replay<S, string>, signatures: (table: string) => Signature | undefined) {
    const engine = engineOf(replay);
    this.#replay = replay;
    this.#fields = new Fields<S>(engine);
    this.#signatures = signatures;
  }

  insert(step: PartOf<StepOf<S>>, priorities: { readonly [table: string]: number }, options: WaitOptions): Promise<void> | undefined {
    const { signal, timeoutMs } = onlyKeys("options", options, "signal, timeoutMs");
    signal?.throwIfAborted();
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_MS);
    const tables = Object.keys(priorities ?? {});
    if (tables.length === 0) throw mustBe(RangeError, "priorities", "an object with at least one table", priorities);
    tableNames({ knows: (table) => Object.hasOwn(this.#replay.options.tables, table) }, tables);
    for (const table of tables) finite(`priorities.${table}`, priorities[table], 0);
    const values = this.#fields.take(step);
    const given = this.#fields.leaves.filter((_, i) => values[i] !== undefined);
    if (given.length === 0) throw mustBe("SPEC_MISMATCH", "step", "an object with at least one field", step);
    for (const table of tables) {
      const signature = this.#signatures(table);
      if (signature !== undefined)
        mustFit(
          table,
          signature,
          given.map(({ leaf: { dtype }, shape }) => ({ dtype, shape: [1, ...shape] })),
        );
    }
    const writer = this.#writer(tables, given);
    // A column of one step: nothing is written unless all of it is.
    const columns = values.map((value, i) => (value === undefined ? this.#fields.zeros(i, 1) : ArrayBuffer.isView(value) ? value : [value]));
    writer.appendColumns(this.#fields.whole(columns) as ColumnsOf<S>, {
      ends: [1],
      priorities: Object.fromEntries(tables.map((table) => [table, [priorities[table] as number]])),
    });
    return writer.flush(options);
  }

  #writer(tables: readonly string[], given: Fields<S>["leaves"]): Writer<S, string> {
    const name = JSON.stringify([tables, given.map((leaf) => leaf.index)]);
    const known = this.#writers.get(name);
    // A user of the Replay may close its writers.
    if (known !== undefined && this.#replay.writers.includes(known as never)) return known;
    const columns = given.length === this.#fields.leaves.length ? {} : { columns: Object.fromEntries(given.map(({ path }) => [path, { leaf: path }])) };
    const items = tables.map((table) => ({ table, length: 1, ...(columns as object) }));
    const made = this.#replay.writer({ keep: 1, items }) as Writer<S, string>;
    this.#writers.set(name, made);
    return made;
  }
}
