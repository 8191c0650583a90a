/** A Replay: one pool of steps, the tables that refer to them, the writers that append them. */

import type { ColumnSet } from "./columns.ts";
import { MOST_BYTES } from "./core.ts";
import { Engine } from "./engine.ts";
import { integer, mustBe, onlyKeys, show } from "./error.ts";
import { layoutOf } from "./layout.ts";
import { type Plan, planOf } from "./plan.ts";
import { isRateLimiter, minSize } from "./rate-limiter.ts";
import { restore, type SnapshotSource } from "./restore.ts";
import { fifo, isSelector, kindsOf, uniform } from "./selector.ts";
import { snapshot } from "./snapshot.ts";
import { leavesOf, type Spec } from "./spec.ts";
import { type ResolvedTableOptions, Table, type TableOptions, type TableStats } from "./table.ts";
import { type ResolvedWriterOptions, resolveWriterOptions, unknownTable, Writer, type WriterOptions } from "./writer.ts";

export interface ReplayOptions<S extends Spec = Spec, TableName extends string = string> {
  /** What one step is: a leaf, or leaves nested in objects and arrays. */
  readonly spec: S;
  readonly tables: { readonly [K in TableName]: TableOptions };
  /** Memory at most; 4 GiB, the most that there can be, where it is left out. */
  readonly maxBytes?: number;
  /** Of every random draw: same seed and same calls, same bytes. 0 where it is left out; a bigint for more than 53 bits. */
  readonly seed?: number | bigint;
  /** Another build of the core than the one that comes with the package. */
  readonly module?: WebAssembly.Module;
}

export interface ReplayStats {
  /** Steps that items or writers hold. */
  readonly steps: number;
  readonly bytes: { readonly used: number; readonly left: number; readonly max: number };
  readonly tables: { readonly [name: string]: TableStats };
  readonly writers: number;
}

/** What a snapshot stores of the options. */
export interface ResolvedReplayOptions {
  readonly spec: Spec;
  readonly tables: { readonly [name: string]: ResolvedTableOptions };
  readonly maxBytes: number;
  readonly seed: string;
}

const DEFAULT_PENDING = 1023;
/** Slots of a table are numbered by 27 bits. */
const MOST_ITEMS = 2 ** 27;

export class Replay<const S extends Spec = Spec, const TableName extends string = string> {
  readonly options: ResolvedReplayOptions;
  readonly #engine: Engine;
  readonly #tables = new Map<string, Table<S>>();
  readonly #writers = new Set<Writer<S, TableName>>();

  /**
   * Takes the tables' memory at once, the steps' as they come.
   * @throws RangeError where the limits cannot fit `maxBytes`; `Replay.plan` tells what they need
   */
  constructor(options: ReplayOptions<S, TableName>) {
    onlyKeys("Replay", options, ["spec", "tables", "maxBytes", "seed", "module"]);
    this.options = resolveOptions(options);
    const { spec, tables, maxBytes, seed } = this.options;
    const layout = layoutOf(leavesOf(spec));
    const plan = planOf(layout, tables);
    if (plan.bytes > maxBytes)
      throw new RangeError(
        `maxBytes must be at least ${plan.bytes}, got ${maxBytes}: ${describe(plan)}. Raise maxBytes, or lower a table's maxSize or maxSteps`,
      );
    const engine = new Engine(spec, maxBytes, options.module);
    this.#engine = engine;
    const bits = BigInt.asUintN(64, BigInt(seed));
    Object.entries(tables).forEach(([name, table], number) => {
      const handle = makeTable(engine, table);
      engine.core.x.table_seed(handle, Number(bits & 0xffffffffn), Number(bits >> 32n), number);
      this.#tables.set(name, new Table<S>(engine, name, table, handle));
    });
  }

  /** What a Replay of these options would need, without taking it. */
  static plan<const S extends Spec, const N extends string>(options: ReplayOptions<S, N>): Plan {
    const { spec, tables } = resolveOptions(options);
    return planOf(layoutOf(leavesOf(spec)), tables);
  }

  /**
   * A Replay as it was when the snapshot was taken: the same items and keys, and the same draws from now on. Its writers are in `writers`.
   * @throws ReplayError CORRUPT where bytes are missing or altered · UNSUPPORTED for another version's snapshot
   */
  static restore<S extends Spec = Spec, N extends string = string>(source: SnapshotSource, options?: { readonly module?: WebAssembly.Module }): Replay<S, N>;
  static restore<S extends Spec = Spec, N extends string = string>(
    source: AsyncIterable<Uint8Array>,
    options?: { readonly module?: WebAssembly.Module },
  ): Promise<Replay<S, N>>;
  static restore(source: SnapshotSource | AsyncIterable<Uint8Array>, options: { readonly module?: WebAssembly.Module } = {}): unknown {
    return restore(source, (stored: ResolvedReplayOptions, shapes: readonly object[], writers: readonly ResolvedWriterOptions[]) => {
      const replay = new Replay({ ...stored, seed: BigInt(stored.seed), module: options.module });
      for (const columns of shapes) replay.#engine.shapeOf(columns);
      for (const writer of writers) replay.#adopt(writer);
      return { replay, engine: replay.#engine, tables: [...replay.#tables.values()], writers: replay.writers };
    });
  }

  /** @throws ReplayError NOT_FOUND */
  table(name: TableName): Table<S> {
    this.#engine.open();
    const table = this.#tables.get(name);
    if (table === undefined) throw unknownTable(name, this.#tables.keys());
    return table;
  }

  /** All tables, in the order in which they were given. */
  get tables(): readonly Table<S>[] {
    return [...this.#tables.values()];
  }

  /** A new writer: one for each environment, or one with as many lanes for those that go in lock-step. */
  writer(options: WriterOptions<TableName, ColumnSet<S>> = {}): Writer<S, TableName> {
    this.#engine.open();
    const resolved = resolveWriterOptions(this.#engine, this.#tables, options);
    const writer = this.#adopt(resolved);
    this.#engine.changed();
    return writer;
  }

  /** The writers that are open, in the order in which they were made. */
  get writers(): readonly Writer<S, TableName>[] {
    return [...this.#writers];
  }

  /**
   * Everything, as chunks of at most about 256 KiB: items, keys, steps, open episodes, random states. Nothing may change until the last chunk was read.
   * @throws ReplayError OUT_OF_TURN where something did
   */
  snapshot(): Iterable<Uint8Array> {
    this.#engine.open();
    return snapshot(this.#engine, this.options, this.tables, this.writers);
  }

  /** What the options come to in bytes. */
  plan(): Plan {
    return planOf(this.#engine.layout, this.options.tables);
  }

  stats(): ReplayStats {
    this.#engine.open();
    const { x } = this.#engine.core;
    return {
      steps: x.pool_live(this.#engine.pool),
      bytes: { used: x.arena_used(), left: x.arena_left(), max: this.options.maxBytes },
      tables: Object.fromEntries(this.tables.map((table) => [table.name, table.stats()])),
      writers: this.#writers.size,
    };
  }

  /** Gives everything up; calls that wait are rejected, later calls throw CLOSED. Its memory goes with the garbage. */
  dispose(): void {
    if (!this.#engine.closed) this.#engine.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #adopt(options: ResolvedWriterOptions): Writer<S, TableName> {
    const writer: Writer<S, TableName> = new Writer(this.#engine, this.#tables, options, () => this.#writers.delete(writer));
    this.#writers.add(writer);
    return writer;
  }
}

function resolveOptions(options: ReplayOptions): ResolvedReplayOptions {
  if (typeof options !== "object" || options === null) throw new TypeError(mustBe("Replay", "given {spec, tables}", options));
  const { spec, tables, maxBytes = MOST_BYTES, seed = 0 } = options;
  leavesOf(spec);
  integer("maxBytes", maxBytes, 1, 2 ** 32);
  if (typeof seed !== "bigint") integer("seed", seed, 0);
  if (typeof tables !== "object" || tables === null) throw new TypeError(mustBe("tables", "an object of table options by name", tables));
  const names = Object.keys(tables);
  if (names.length === 0) throw new RangeError("tables must have at least one table, got none");
  return {
    spec,
    tables: Object.fromEntries(names.map((name) => [name, resolveTable(name, tables[name] as TableOptions)])),
    maxBytes: Math.min(maxBytes, MOST_BYTES),
    seed: String(seed),
  };
}

function resolveTable(name: string, options: TableOptions): ResolvedTableOptions {
  if (name === "") throw new RangeError("tables must have names, got one that is empty");
  const subject = `tables.${name}`;
  if (typeof options !== "object" || options === null) throw new TypeError(mustBe(subject, "an object of options", options));
  onlyKeys(subject, options, ["maxSize", "sampler", "remover", "rateLimiter", "maxTimesSampled", "maxSteps", "maxPending"]);
  const { sampler = uniform(), remover = fifo(), rateLimiter = minSize(1) } = options;
  for (const [role, value] of [
    ["sampler", sampler],
    ["remover", remover],
  ] as const) {
    if (!isSelector(value))
      throw new TypeError(mustBe(`${subject}.${role}`, "a selector: fifo(), lifo(), uniform(), prioritized(), minHeap() or maxHeap()", value));
  }
  if (!isRateLimiter(rateLimiter))
    throw new TypeError(mustBe(`${subject}.rateLimiter`, "a rate limiter: minSize(), sampleToInsertRatio() or queueLimiter()", rateLimiter));
  const maxPending = integer(`${subject}.maxPending`, options.maxPending ?? DEFAULT_PENDING, 0, MOST_ITEMS / 2);
  return {
    maxSize: integer(`${subject}.maxSize`, options.maxSize, 1, MOST_ITEMS / 2),
    sampler,
    remover,
    rateLimiter,
    maxTimesSampled: options.maxTimesSampled === undefined ? Number.MAX_SAFE_INTEGER : integer(`${subject}.maxTimesSampled`, options.maxTimesSampled, 1),
    maxSteps: options.maxSteps === undefined ? Number.MAX_SAFE_INTEGER : integer(`${subject}.maxSteps`, options.maxSteps, 1),
    maxPending,
  };
}

function makeTable(engine: Engine, options: ResolvedTableOptions): number {
  const { x } = engine.core;
  const { maxSize, maxPending, sampler, remover, rateLimiter, maxSteps, maxTimesSampled } = options;
  const kinds = kindsOf(sampler, remover);
  const table = engine.core.alloc(x.table_bytes(maxSize, maxPending, kinds.sampler, kinds.remover));
  x.table_init(table, engine.pool, maxSize, maxPending, kinds.sampler, kinds.remover);
  x.table_exponents(table, sampler.exponent ?? 1, remover.exponent ?? 1);
  x.table_limits(table, maxSteps === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : maxSteps, maxTimesSampled > 0xffffffff ? 0 : maxTimesSampled);
  x.table_limiter(table, rateLimiter.samplesPerInsert, rateLimiter.minSize, rateLimiter.minDiff, rateLimiter.maxDiff);
  return table;
}

function describe(plan: Plan): string {
  const tables = Object.entries(plan.tables).map(([name, { bytes }]) => `table ${show(name)} ${bytes}`);
  return `${plan.steps} steps of ${plan.bytesPerStep} bytes, ${tables.join(", ")}`;
}
