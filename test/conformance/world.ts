/** Holds the state of a case: a client with the case's tables, the writers that its ops have created, and the keys from samples. */

import { type Column, type Leaf, Replay, type Spec, type Table } from "../../src/index.ts";
import {
  type Client,
  type ItemColumns,
  type ItemKey,
  type LegacyWriter,
  LocalClient,
  type NamedTable,
  type Public,
  type Signature,
  type TrajectoryWriter,
} from "../../src/tf-agents/index.ts";
import type { Awaitable } from "../../src/tf-agents/writers/step-client.ts";
import { Malformed, type TableArgs, type TableCase } from "./case.ts";
import { nestedColumn } from "./nested.ts";
import { ourSpec, specOf } from "./step-spec.ts";
import { tableOptions } from "./tables/options.ts";

/** The seed of every case, so that results are reproducible. */
const SEED = 2026;
const MAX_BYTES = 2 ** 28;
/** The maximum time of a wait in milliseconds. Nothing else runs while a case waits, so a result that is not immediate never arrives. */
export const WAIT_MS = 20;
export const DEFAULT_WRITER = "w";
/** The key that is used for a value that no sample has returned. No item has this key. */
const NO_KEY = 0;

/** The sample options that return an item as a whole, even if it spans several episodes. */
const WHOLE = { cross: true };

type Named = { readonly writer?: unknown };

export interface Sampled {
  readonly value: unknown;
  readonly probability: number;
  readonly table_size: number;
  readonly priority: number;
  readonly times_sampled: number;
}

type AnyWriter = Public<TrajectoryWriter> | Public<LegacyWriter>;

/** The client and the writers of a case. The tables are in this process or on a server. */
export abstract class TableWorld {
  readonly test: TableCase;
  readonly spec: { readonly [branch: string]: Spec };
  abstract readonly client: Pick<Client, "insert" | "legacyWriter" | "mutatePriorities" | "reset" | "serverInfo" | "trajectoryWriter">;
  /** The maximum time to wait for a result, in milliseconds. */
  abstract readonly waitMs: number;
  /** Trajectory and legacy writers, by their names in the ops. */
  readonly writers = new Map<string, AnyWriter>();
  /** The keys of sampled items, by table and value. */
  readonly #keys = new Map<string, ItemKey>();
  /** The columns that a `hold` op picked, for a later `create_item` op that names none. */
  held: ItemColumns | undefined;

  constructor(test: TableCase) {
    this.test = test;
    this.spec = specOf(test);
  }

  abstract canInsert(table: string, n: number): Awaitable<boolean>;
  abstract canSample(table: string, n: number): Awaitable<boolean>;
  /** Draws one item; undefined if the limiter allows none. */
  abstract sample(table: string): Awaitable<Sampled | undefined>;
  /** Draws n items. @throws ReplayError TIMEOUT if the limiter does not allow all of the draws in time */
  abstract sampleMany(table: string, n: number): Promise<Sampled[]>;
  /** Called after an item is created. On a server, waits for its insertion. @param waits resolves when the writer can continue */
  abstract sent(waits: Promise<void> | undefined): Awaitable<void>;
  /** Closes the writers, saves everything to a checkpoint, and restores it. @param tables the tables that must exist after the restart; default: all */
  abstract restart(tables?: readonly TableArgs[]): Awaitable<void>;

  /** Returns the name of an op's table. The default is "t", or the first table if there is no "t". */
  nameOf(args: { readonly table?: unknown }): string {
    const names = this.test.tables.map((table) => table.name);
    return (args.table ?? (names.includes("t") ? "t" : names[0])) as string;
  }

  key(table: string, value: unknown): ItemKey {
    return this.#keys.get(`${table} ${value}`) ?? NO_KEY;
  }

  /** Returns an item in the format of the cases, and remembers its key. @param columns the item's columns as nested plain values */
  told(table: string, columns: readonly unknown[], key: ItemKey, info: Omit<Sampled, "value">): Sampled {
    const [lone] = columns;
    const value = columns.length > 1 ? columns : Array.isArray(lone) && lone.length === 1 ? lone[0] : lone;
    if (!Array.isArray(value)) this.#keys.set(`${table} ${value}`, key);
    return { value, ...info };
  }

  trajectoryWriter(args: Named): Public<TrajectoryWriter> {
    const found = this.anyWriter(args);
    if (isLegacy(found)) throw new Malformed("this op is for trajectory writers");
    return found;
  }

  legacyWriter(args: Named): Public<LegacyWriter> {
    const found = this.anyWriter(args);
    if (!isLegacy(found)) throw new Malformed("this op is for legacy writers");
    return found;
  }

  anyWriter({ writer = DEFAULT_WRITER }: Named): AnyWriter {
    const found = this.writers.get(writer as string);
    if (found === undefined) throw new Malformed(`no writer ${JSON.stringify(writer)} was made`);
    return found;
  }
}

function isLegacy(writer: AnyWriter): writer is Public<LegacyWriter> {
  return "appendSequence" in writer;
}

/** The tables of a case in this process. */
export class World extends TableWorld {
  readonly waitMs = WAIT_MS;
  client: LocalClient;

  constructor(test: TableCase, define: (table: TableArgs) => NamedTable = definitionOf) {
    super(test);
    const tables = test.tables.map(define);
    this.client = LocalClient.of<Spec>({ spec: this.spec, tables, seed: SEED, maxBytes: MAX_BYTES, logger: null });
  }

  table(name: string): Table {
    return this.client.table(name);
  }

  canInsert(table: string, n: number): boolean {
    return this.table(table).canInsert(n);
  }

  canSample(table: string, n: number): boolean {
    return this.table(table).canSample(n);
  }

  sample(table: string): Sampled | undefined {
    const batch = this.table(table).sample(1, WHOLE);
    return batch.count === 0 ? undefined : this.#shown(table, batch);
  }

  async sampleMany(table: string, n: number): Promise<Sampled[]> {
    const samples: Sampled[] = [];
    for (let i = 0; i < n; i++) samples.push(this.#shown(table, await this.table(table).sampleWhenReady(1, { ...WHOLE, timeoutMs: WAIT_MS })));
    return samples;
  }

  #shown(table: string, { steps, info }: ReturnType<Table["sample"]>): Sampled {
    return this.told(table, columnsOf(steps), info.keys[0] as number, {
      probability: info.probabilities[0] as number,
      table_size: info.tableSizes[0] as number,
      priority: info.priorities[0] as number,
      times_sampled: info.timesSampled[0] as number,
    });
  }

  /** Does not wait, because an item that the limiter blocks would never be inserted. */
  sent(): void {}

  restart(wanted: readonly TableArgs[] = this.test.tables): void {
    const { replay } = this.client;
    for (const writer of replay.writers) writer.close();
    this.writers.clear();
    const chunks = [...replay.snapshot()];
    replay.dispose();
    const signatures = Object.fromEntries(this.test.tables.flatMap((table) => Object.values(signatureOf(table)).map((signature) => [table.name, signature])));
    this.client = new LocalClient<Spec, string>(Replay.restore(chunks, { logger: null }), { signatures });
    // A server checks at its start that the checkpoint has its tables.
    for (const { name } of wanted) this.table(name);
  }

  end(): void {
    this.client.replay.dispose();
  }
}

function definitionOf(table: TableArgs): NamedTable {
  return { name: table.name, ...tableOptions(table), ...signatureOf(table) };
}

/** Returns the signature of a table: `signature` has each leaf without its time dimension, `item_signature` includes it. */
export function signatureOf({ signature, item_signature: own }: TableArgs): { readonly signature?: Signature } {
  if (own !== undefined && own !== null) return { signature: ourSpec(own) as Signature };
  return signature === undefined || signature === null ? {} : { signature: timed(ourSpec(signature)) };
}

function timed(spec: Spec): Signature {
  const { dtype, shape } = spec as Leaf;
  if (typeof dtype === "string") return { dtype, shape: [null, ...shape] };
  if (Array.isArray(spec)) return spec.map(timed);
  return Object.fromEntries(Object.entries(spec).map(([name, node]) => [name, timed(node as Spec)]));
}

/** Returns the columns of a batch that contains one item, as nested plain values. */
function columnsOf(steps: unknown): unknown[] {
  const { data, shape } = steps as Column;
  if (ArrayBuffer.isView(data)) return [nestedColumn({ data, shape: shape.slice(1) } as Column)];
  return Object.values(steps as object).flatMap(columnsOf);
}
