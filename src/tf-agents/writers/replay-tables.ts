/** Connects a client to the tables of a Replay in this process. */
import { mustBe } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { type Dataset, elementsOf } from "../../batch/iterate.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import type { ColumnsOf, FoundLeaf, Spec } from "../../schema/spec.ts";
import { mutate, type Table } from "../../tables/table.ts";
import type { Writer } from "../../tables/writer.ts";
import type { DrawnItem, ItemKey } from "../sampling/sample.ts";
import { ItemSampler } from "../sampling/sampler.ts";
import type { Sampler, SamplerOptions } from "../sampling/sampler-options.ts";
import { type TableInfo, tableInfo } from "../sampling/table-info.ts";
import { TableSource } from "../sampling/table-source.ts";
import { mustFit, type Signature } from "../signature.ts";
import type { ClientTables, InsertedStep, SinkRequest } from "./client-calls.ts";
import { Fields } from "./fields.ts";
import type { KeyChanges } from "./key-changes.ts";
import { ReplaySink } from "./replay-sink.ts";
import { tableNames } from "./step-client.ts";

export class ReplayTables<S extends Spec> implements ClientTables<S> {
  readonly fields: Fields<S>;
  readonly maxTimeout = Number.MAX_VALUE;
  readonly #replay: Replay<S, string>;
  readonly #signatures: { readonly [name: string]: Signature | undefined };

  constructor(replay: Replay<S, string>, signatures: { readonly [name: string]: Signature | undefined }) {
    this.#replay = replay;
    this.#signatures = signatures;
    this.fields = new Fields<S>(engineOf(replay));
  }

  /** Returns the signature that items of a table must fit, if the table has a signature. */
  signature(table: string): Signature | undefined {
    return this.#signatures[table];
  }

  answer<T>(call: () => T): T {
    return call();
  }

  mustBeTable(name: unknown): void {
    this.#replay.table(name as string);
  }

  mustKnow(names: readonly string[]): void {
    tableNames({ knows: (name) => this.#has(name) }, names);
  }

  sink({ maker, keep, validates = true }: SinkRequest): ReplaySink<S> {
    const signatures = (table: string) => (validates ? this.#signatures[table] : undefined);
    return new ReplaySink<S>(this.#replay, this.fields, { keep, across: maker !== "legacyWriter", maker, signatures });
  }

  leavesFor(table: string, leaves: readonly FoundLeaf[]): readonly PlacedLeaf[] {
    return leaves.map(({ keys, path }) => {
      const leaf = this.fields.leaves.find((own) => own.keys.join(".") === keys.join("."));
      if (leaf === undefined)
        throw mustBe("SPEC_MISMATCH", `the signature of table ${table}`, "a signature in which every leaf has a name from the spec", path);
      return leaf;
    });
  }

  insert({ values, leaves, shapes, stepShapes, priorities }: InsertedStep, options: WaitOptions): Promise<void> | undefined {
    const replay = this.#replay;
    for (const [table] of priorities) mustFit(table, this.#signatures[table], shapes, stepShapes);
    const before = replay.writers.length;
    const names = priorities.map(([table]) => table);
    const writer = this.#inserter(names, leaves);
    // The step is written as columns of one step, so either the whole step or nothing is written.
    const columns = this.fields.leaves.map((_, i) => {
      const value = values[i];
      return value === undefined ? this.fields.zeros(i, 1) : ArrayBuffer.isView(value) ? value : [value];
    });
    try {
      writer.appendColumns(this.fields.completeStep(columns) as ColumnsOf<S>, {
        ends: [1],
        priorities: Object.fromEntries(priorities.map(([table, priority]) => [table, [priority]])),
      });
    } catch (error) {
      // Close a writer that was created only for this step.
      if (replay.writers.length > before) writer.close();
      throw error;
    }
    return writer.flush(options);
  }

  samples(table: string, count: number, signal: AbortSignal | undefined, read: (own: Signature | undefined) => (item: DrawnItem) => unknown): Dataset<unknown> {
    const from = this.#table(table);
    const toSample = read(this.#signatures[table]);
    const begin = () => {
      const source = new TableSource(from, {});
      let left = count;
      const toSampleOf = (item: DrawnItem | undefined) => {
        if (item === undefined) return undefined;
        left--;
        return toSample(item);
      };
      return {
        next: () => (left === 0 ? undefined : toSampleOf(source.now())),
        later: async (wait: WaitOptions) => (left === 0 ? undefined : toSampleOf(await source.next(wait))),
      };
    };
    return elementsOf(begin, signal === undefined ? {} : { signal });
  }

  sampler(table: string, options: SamplerOptions): Sampler {
    if (this.#has(table)) return new ItemSampler(new TableSource(this.#table(table), options));
    // The error is thrown with the first item.
    const next = () => {
      this.mustBeTable(table);
      return undefined;
    };
    return { next, close: () => {} };
  }

  info(): { readonly [table: string]: TableInfo } {
    const names = Object.keys(this.#replay.options.tables);
    return Object.fromEntries(names.map((name) => [name, tableInfo(this.#table(name), this.#signatures[name])]));
  }

  mutate(table: string, { keys, priorities, deletes: deleted }: KeyChanges): void {
    const to = this.#table(table);
    mutate(to, keys.map(ownKey), priorities);
    to.delete(deleted.map(ownKey));
  }

  reset(table: string): void {
    this.#table(table).clear();
  }

  #table(name: string): Table<S> {
    return this.#replay.table(name);
  }

  #has(name: string): boolean {
    return Object.hasOwn(this.#replay.options.tables, name);
  }

  #inserter(tables: readonly string[], leaves: Fields<S>["leaves"]): Writer<S, string> {
    const replay = this.#replay;
    const name = `insert ${JSON.stringify([tables, leaves.map((leaf) => leaf.index)])}`;
    const inserters = insertersOf(replay);
    const known = inserters.get(name);
    // A user of the Replay may have closed its writers.
    if (known !== undefined && replay.writers.includes(known as never)) return known as Writer<S, string>;
    const columns = leaves.length === this.fields.leaves.length ? {} : { columns: Object.fromEntries(leaves.map(({ path }) => [path, { leaf: path }])) };
    const items = tables.map((table) => ({ table, length: 1, ...(columns as object) }));
    // The name matches a writer of an earlier run.
    const made = replay.writer({ name, keep: 1, items }) as Writer<S, string>;
    inserters.set(name, made as Writer);
    return made;
  }
}

/** The writers that insert single steps into a Replay, shared by all its clients: one per set of tables and fields. */
const inserters = new WeakMap<object, Map<string, Writer>>();

function insertersOf(replay: object): Map<string, Writer> {
  const known = inserters.get(replay) ?? new Map<string, Writer>();
  inserters.set(replay, known);
  return known;
}

/** Returns a key as a number. Keys that cannot occur in this process become 0, which is not the key of any item. */
function ownKey(key: ItemKey): number {
  return Number(key) <= Number.MAX_SAFE_INTEGER ? Number(key) : 0;
}
