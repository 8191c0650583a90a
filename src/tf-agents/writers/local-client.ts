/** A client of the tables in this process. */
import { pointAtCallersOf } from "../../base/caller.ts";
import { finite, flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import { checkSignal, type WaitOptions } from "../../base/wait.ts";
import { type Dataset, elementsOf } from "../../batch/iterate.ts";
import { RemoteWriter } from "../../remote/writer.ts";
import { engineOf, Replay, type ReplayOptions } from "../../replay/replay.ts";
import type { ColumnsOf, Spec, StepOf } from "../../schema/spec.ts";
import { mutate, type Table, type TableOptions } from "../../tables/table.ts";
import type { Writer } from "../../tables/writer.ts";
import type { Config } from "../patterns/config.ts";
import { type DrawnItem, type ItemKey, nestColumns, type ReplaySample, stepColumns, stepsOf, wholeColumns } from "../sampling/sample.ts";
import { TableSampler } from "../sampling/sampler.ts";
import type { Sampler, SamplerOptions } from "../sampling/sampler-options.ts";
import { Table as Definition, inUse, type NamedTable } from "../sampling/table.ts";
import { type TableInfo, tableInfo } from "../sampling/table-info.ts";
import { mustFit, type Signature, signatureOf } from "../signature.ts";
import type { ClientLike, PriorityChanges, SampleCallOptions, SampleClient, SampleOf, ServerInfoOptions, TableClient } from "./client.ts";
import { Fields, type PartOf } from "./fields.ts";
import { keyChangesOf } from "./key-changes.ts";
import { checkLegacy, type LegacyWriterOptions } from "./legacy-options.ts";
import { LegacyWriter } from "./legacy-writer.ts";
import { RemoteClient } from "./remote-client.ts";
import { ReplaySink } from "./replay-sink.ts";
import { type StepClient, type StepWriterOptions, tableNames } from "./step-client.ts";
import { StructuredWriter } from "./structured-writer.ts";
import { checkTrajectory, TrajectoryWriter, type TrajectoryWriterOptions } from "./trajectory-writer.ts";

export interface LocalClientOptions<N extends string = string> {
  /** What the items of a table must look like; of tables that are left out nothing is asked. */
  readonly signatures?: { readonly [K in N]?: Signature };
}

export class LocalClient<const S extends Spec = Spec, N extends string = string> implements TableClient<S, N> {
  readonly replay: Replay<S, N>;
  readonly #signatures: { readonly [name: string]: Signature | undefined };
  readonly #fields: Fields<S>;

  /** @throws TypeError · ReplayError NOT_FOUND for a signature of a table that the Replay has not */
  constructor(replay: Replay<S, N>, options: LocalClientOptions<N> = {}) {
    pointAtCallersOf(new.target);
    if (!(replay instanceof Replay)) throw mustBe(TypeError, "client", "a Replay, or a client of one", replay);
    const { signatures = {} } = onlyKeys("options", options, "signatures");
    this.replay = replay;
    for (const name of Object.keys(signatures)) this.table(name);
    this.#signatures = { ...signatures };
    this.#fields = new Fields<S>(engineOf(replay));
  }

  /**
   * The client of a new Replay, whose tables come as a list: `reverb.Server(tables)`. A `Table` among them tells its counts from then on.
   * @throws RangeError for no tables, or two of one name, and as `new Replay`
   */
  static of<const S extends Spec>(options: Omit<ReplayOptions<S>, "tables"> & { readonly tables: readonly NamedTable[] }): LocalClient<S> {
    const { tables: list, ...rest } = onlyKeys("options", options, "spec, tables, maxBytes, seed, transition, module, logger");
    if (!Array.isArray(list) || list.length === 0) throw mustBe(RangeError, "tables", "a list of at least one table", list);
    const tables: { [name: string]: TableOptions } = {};
    const signatures: { [name: string]: Signature } = {};
    (list as readonly NamedTable[]).forEach((one, i) => {
      if (typeof one !== "object" || one === null) throw mustBe(TypeError, `tables[${i}]`, "a table's options, with its name", one);
      const { name, signature, ...table } = one;
      if (typeof name !== "string") throw mustBe(TypeError, `tables[${i}].name`, "a string", name);
      if (Object.hasOwn(tables, name)) throw mustBe(RangeError, `tables[${i}].name`, "different from the names of the other tables", name);
      tables[name] = table;
      if (signature !== undefined) signatures[name] = signature;
    });
    const client = madeOf(new Replay<S, string>({ ...rest, tables } as ReplayOptions<S>), { signatures });
    for (const one of list) if (one instanceof Definition) inUse(one, () => client.serverInfo()[one.name] as TableInfo);
    return client;
  }

  get spec(): S {
    return this.replay.options.spec as S;
  }

  knows(table: string): boolean {
    return Object.hasOwn(this.replay.options.tables, table);
  }

  /** @throws ReplayError NOT_FOUND */
  table(name: string): Table<S> {
    return this.replay.table(name as N);
  }

  /** The table's own; else the spec of the steps, with a dimension of time before each leaf's own. @throws ReplayError NOT_FOUND */
  signature(table: string): Signature {
    this.table(table);
    return this.#signatures[table] ?? signatureOf(this.spec);
  }

  writer(options: StepWriterOptions): Writer<S, string> {
    return this.replay.writer({ items: [], ...options } as object) as unknown as Writer<S, string>;
  }

  /** A writer of items whose columns name any steps at hand. @throws RangeError, TypeError */
  trajectoryWriter(options: TrajectoryWriterOptions): TrajectoryWriter<S> {
    const { keep, validates } = checkTrajectory(options);
    const fields = this.#newFields();
    return new TrajectoryWriter<S>(fields, keep, this.#sink("trajectoryWriter", fields, keep, validates));
  }

  /** A writer that makes items of patterns by itself: Reverb's `structured_writer`. @throws RangeError, TypeError · ReplayError NOT_FOUND, SPEC_MISMATCH */
  structuredWriter(configs: readonly Config[]): StructuredWriter<S> {
    const fields = this.#newFields();
    return new StructuredWriter<S>(fields, configs, (keep) => this.#sink("structuredWriter", fields, keep));
  }

  /** A writer of items of the last steps: Reverb's `client.writer`. @throws RangeError, TypeError */
  legacyWriter(options: LegacyWriterOptions): LegacyWriter<S> {
    const { maxSequenceLength } = checkLegacy(options);
    const fields = this.#newFields();
    return new LegacyWriter<S>(fields, maxSequenceLength, this.#sink("legacyWriter", fields, maxSequenceLength));
  }

  /**
   * Inserts one step, an episode of its own, as an item of each table. Fields that it leaves out are no part of the items. All of it or nothing. O(bytes + tables)
   * @returns `undefined`, or a promise where a rate limiter makes an item wait: until none in these tables does
   * @throws RangeError for no table, a priority that is none · ReplayError NOT_FOUND, SPEC_MISMATCH, INVALID_DATA, RATE_LIMITED, OUT_OF_MEMORY
   */
  insert(step: PartOf<StepOf<S>>, priorities: { readonly [K in N]?: number }, options: WaitOptions = {}): Promise<void> | undefined {
    const { signal, timeoutMs } = onlyKeys("options", options, "signal, timeoutMs");
    checkSignal(signal);
    signal?.throwIfAborted();
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
    const given = (priorities ?? {}) as { readonly [table: string]: number };
    const tables = Object.keys(given);
    if (tables.length === 0) throw mustBe(RangeError, "priorities", "an object with at least one table", priorities);
    tableNames(this, tables);
    for (const table of tables) finite(`priorities.${table}`, given[table], 0);
    const values = this.#fields.take(step);
    const leaves = this.#fields.leaves.filter((_, i) => values[i] !== undefined);
    if (leaves.length === 0) throw mustBe("SPEC_MISMATCH", "step", "an object with at least one field", step);
    const steps = leaves.map(({ leaf: { dtype }, shape }) => ({ dtype, shape }));
    const shapes = steps.map(({ dtype, shape }) => ({ dtype, shape: [1, ...shape] }));
    for (const table of tables) mustFit(table, this.#signatures[table], shapes, steps);
    const before = this.replay.writers.length;
    const writer = this.#inserter(tables, leaves);
    // A column of one step: nothing is written unless all of it is.
    const columns = values.map((value, i) => (value === undefined ? this.#fields.zeros(i, 1) : ArrayBuffer.isView(value) ? value : [value]));
    try {
      writer.appendColumns(this.#fields.whole(columns) as ColumnsOf<S>, {
        ends: [1],
        priorities: Object.fromEntries(tables.map((table) => [table, [given[table] as number]])),
      });
    } catch (error) {
      // One that was made for this goes with it.
      if (this.replay.writers.length > before) writer.close();
      throw error;
    }
    return writer.flush(options);
  }

  /**
   * Items as the table gives them, one draw each; none is drawn before it is asked for. `for` ends where the rate limiter lets none pass now, `for await` waits. O(log size + steps + bytes) each
   * @param numSamples how many; 1 where it is left out, none at all with -1
   * @throws RangeError, TypeError · ReplayError NOT_FOUND · in the iteration SPEC_MISMATCH for an item that is no sequence of steps, with `emitTimesteps`; it counts as sampled
   */
  sample<const O extends SampleCallOptions>(table: string, numSamples = 1, options?: O): Dataset<SampleOf<O>> {
    const known: SampleCallOptions = onlyKeys("options", options ?? {}, "emitTimesteps, unpackAsTableSignature, signal");
    const { emitTimesteps = true, unpackAsTableSignature = false, signal } = known;
    if (numSamples !== -1) integer("numSamples", numSamples, 1);
    flag("emitTimesteps", emitTimesteps);
    flag("unpackAsTableSignature", unpackAsTableSignature);
    const from = this.table(table);
    const signature = unpackAsTableSignature ? this.#signatures[table] : undefined;
    const nest = (columns: ReturnType<typeof wholeColumns>) => (signature === undefined ? columns : nestColumns(table, signature, columns));
    const given = (item: DrawnItem): ReplaySample | readonly ReplaySample[] => {
      const { info } = item;
      if (!emitTimesteps) return { info, data: nest(wholeColumns(item)) };
      return Array.from({ length: stepsOf(table, item, false) }, (_, t) => ({ info, data: nest(stepColumns(item, t)) }));
    };
    const begin = () => {
      const sampler = new TableSampler(from, {});
      let left = Math.max(numSamples, 0);
      const taken = (item: DrawnItem | undefined) => {
        if (item === undefined) return undefined;
        left--;
        return given(item);
      };
      return {
        next: () => (left === 0 ? undefined : taken(sampler.now())),
        later: async (wait: WaitOptions) => (left === 0 ? undefined : taken(await sampler.next(wait))),
      };
    };
    return elementsOf(begin, signal === undefined ? {} : { signal }) as Dataset<SampleOf<O>>;
  }

  /** What datasets draw from: a table, item by item. Nothing is drawn ahead. @throws RangeError, TypeError · ReplayError NOT_FOUND with the first item */
  sampler(table: string, options: SamplerOptions = {}): Sampler {
    onlyKeys("options", options, SAMPLER);
    return this.knows(table) ? new TableSampler(this.table(table), options) : nowhere(() => this.table(table));
  }

  /** Every table by its name. @param options.timeout checked, and without effect: nothing is waited for. O(tables) @throws the signal's reason */
  serverInfo(options: ServerInfoOptions = {}): { readonly [table: string]: TableInfo } {
    const { timeout, signal } = onlyKeys("options", options, "timeout, signal");
    if (timeout !== undefined && timeout !== null) finite("timeout", timeout, 0);
    checkSignal(signal);
    signal?.throwIfAborted();
    return Object.fromEntries(Object.keys(this.replay.options.tables).map((name) => [name, tableInfo(this.table(name), this.#signatures[name])]));
  }

  /**
   * Sets priorities, and deletes items. Keys whose items are gone are skipped. All of it or nothing. O(changes × log size)
   * @throws RangeError for a priority that is none, or a key · TypeError · ReplayError NOT_FOUND
   */
  mutatePriorities(table: string, changes: PriorityChanges): void {
    const to = this.table(table);
    const { keys, priorities, gone } = keyChangesOf(changes);
    mutate(to, keys.map(ownKey), priorities);
    to.delete(gone.map(ownKey));
  }

  /** Drops every item of a table and sets its counts to 0; items that wait come in then. O(size log size) @throws ReplayError NOT_FOUND */
  reset(table: string): void {
    this.table(table).clear();
  }

  /**
   * All tables as the bytes of a snapshot, in chunks of about 64 KiB: `Replay.restore` makes a Replay of them. Nothing may change until the last chunk was read. Signatures are
   * no part of it: give them to the new client.
   * @throws ReplayError OUT_OF_TURN where something did
   */
  checkpoint(): Iterable<Uint8Array<ArrayBuffer>> {
    return this.replay.snapshot();
  }

  #inserter(tables: readonly string[], leaves: Fields<S>["leaves"]): Writer<S, string> {
    const name = `insert ${JSON.stringify([tables, leaves.map((leaf) => leaf.index)])}`;
    const inserters = insertersOf(this.replay);
    const known = inserters.get(name);
    // A user of the Replay may close its writers.
    if (known !== undefined && this.replay.writers.includes(known as never)) return known as Writer<S, string>;
    const columns = leaves.length === this.#fields.leaves.length ? {} : { columns: Object.fromEntries(leaves.map(({ path }) => [path, { leaf: path }])) };
    const items = tables.map((table) => ({ table, length: 1, ...(columns as object) }));
    // By its name, the one that an earlier run has left.
    const made = this.#steps.writer({ name, keep: 1, items }) as Writer<S, string>;
    inserters.set(name, made as Writer);
    return made;
  }

  #sink(maker: "legacyWriter" | "structuredWriter" | "trajectoryWriter", fields: Fields<S>, keep: number, validates = true): ReplaySink<S> {
    const signatures = (table: string) => (validates ? this.#signatures[table] : undefined);
    return new ReplaySink<S>(this.#steps, fields, { keep, across: maker !== "legacyWriter", maker, signatures });
  }

  /** Fields of one writer: a getter of a step may append to another one. */
  #newFields(): Fields<S> {
    return new Fields<S>(engineOf(this.replay));
  }

  /** The Replay without its tables' names in the type. */
  get #steps(): Replay<S, string> {
    return this.replay as unknown as Replay<S, string>;
  }
}

/** What inserts single steps into a Replay, whichever client they come through: a writer for each set of tables and fields. */
const inserters = new WeakMap<object, Map<string, Writer>>();

function insertersOf(replay: object): Map<string, Writer> {
  const known = inserters.get(replay) ?? new Map<string, Writer>();
  inserters.set(replay, known);
  return known;
}

const SAMPLER = "maxSamples, rateLimiterTimeoutMs, maxInFlightSamplesPerWorker, numWorkersPerIterator, maxSamplesPerStream";

/** Out of the class, which does not name itself: see prints.ts. */
function madeOf<S extends Spec, N extends string>(replay: Replay<S, N>, options: LocalClientOptions<N>): LocalClient<S, N> {
  return new LocalClient<S, N>(replay, options);
}

/** A sampler of a table that is not there: the error comes with the first item. */
function nowhere(look: () => unknown): Sampler {
  const next = () => {
    look();
    return undefined;
  };
  return { next, close: () => {} };
}

/** A key as tables of this process have them. Those of a server's that are none here become 0, the key of no item. */
function ownKey(key: ItemKey): number {
  return Number(key) <= Number.MAX_SAFE_INTEGER ? Number(key) : 0;
}

const locals = new WeakMap<Replay, LocalClient>();
const remotes = new WeakMap<object, unknown>();

/** The client itself, or the one of a Replay or of a remote writer; always the same one. */
export function clientOf<S extends Spec, N extends string>(client: ClientLike<S, N>): StepClient<S> {
  if (client instanceof RemoteWriter) {
    const remote = (remotes.get(client) as StepClient<S> | undefined) ?? new RemoteClient<S>(client);
    remotes.set(client, remote);
    return remote;
  }
  if (!(client instanceof Replay)) {
    if (typeof client?.writer !== "function") throw mustBe(TypeError, "client", "a Replay, or a client, or a remote writer", client);
    return client;
  }
  const replay = client as unknown as Replay;
  const local = locals.get(replay) ?? new LocalClient(replay);
  locals.set(replay, local);
  return local as unknown as LocalClient<S, N>;
}

/** The same of what is only drawn from. @throws TypeError */
export function sampleClientOf(client: SampleClient | Replay): SampleClient {
  if (client instanceof Replay) return clientOf(client as ClientLike) as LocalClient;
  if (typeof client?.sampler !== "function") throw mustBe(TypeError, "client", "a Replay, or a client that tables can be drawn from", client);
  return client;
}
