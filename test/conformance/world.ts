/** What the ops of a case act on: a client of the case's tables, the writers made so far, and the keys that samples have told. */
import { type ItemColumns, type LegacyWriter, LocalClient, type NamedTable, type Signature, TrajectoryWriter } from "../../src/agents/index.ts";
import { type Column, type Leaf, Replay, type Spec, type Table } from "../../src/index.ts";
import { Malformed, type TableArgs, type TableCase } from "./case.ts";
import { nestedColumn } from "./nested.ts";
import { ourSpec, specOf } from "./step-spec.ts";
import { tableOptions } from "./tables/options.ts";

/** Every case draws from the same seed: what passes once passes always. */
const SEED = 2026;
const MAX_BYTES = 2 ** 28;
/** Nothing else runs while a case waits: what does not come at once does not come. */
export const WAIT_MS = 20;
export const DEFAULT_WRITER = "w";
/** A key that no item has. */
const NO_KEY = 0;

/** An item is shown whole, also where it spans episodes. */
const WHOLE = { cross: true };

type Named = { readonly writer?: unknown };

export interface Sampled {
  readonly value: unknown;
  readonly probability: number;
  readonly table_size: number;
  readonly priority: number;
  readonly times_sampled: number;
}

export class World {
  readonly test: TableCase;
  readonly spec: { readonly [branch: string]: Spec };
  client: LocalClient;
  /** Trajectory and legacy writers, by the name that the ops give them. */
  readonly writers = new Map<string, TrajectoryWriter | LegacyWriter>();
  /** By table and value. */
  readonly #keys = new Map<string, number>();
  /** What `create_item` takes where it names no steps. */
  held: ItemColumns | undefined;

  constructor(test: TableCase, define: (table: TableArgs) => NamedTable = definitionOf) {
    this.test = test;
    this.spec = specOf(test);
    const tables = test.tables.map(define);
    this.client = LocalClient.of<Spec>({ spec: this.spec, tables, seed: SEED, maxBytes: MAX_BYTES, logger: null });
  }

  /** The table of an op. */
  nameOf(args: { readonly table?: unknown }): string {
    const names = this.test.tables.map((table) => table.name);
    return (args.table ?? (names.includes("t") ? "t" : names[0])) as string;
  }

  table(name: string): Table {
    return this.client.table(name);
  }

  key(table: string, value: unknown): number {
    return this.#keys.get(`${table} ${value}`) ?? NO_KEY;
  }

  /** A draw of one item; undefined where the limiter has none to give. */
  sample(table: string): Sampled | undefined {
    const batch = this.table(table).sample(1, WHOLE);
    return batch.count === 0 ? undefined : this.#told(table, batch);
  }

  /** A draw of one item that must come. @throws ReplayError TIMEOUT */
  async mustSample(table: string): Promise<Sampled> {
    return this.#told(table, await this.table(table).sampleWhenReady(1, { ...WHOLE, timeoutMs: WAIT_MS }));
  }

  #told(table: string, { steps, info }: ReturnType<Table["sample"]>): Sampled {
    const columns = columnsOf(steps);
    const [lone] = columns;
    const value = columns.length > 1 ? columns : Array.isArray(lone) && lone.length === 1 ? lone[0] : lone;
    if (!Array.isArray(value)) this.#keys.set(`${table} ${value}`, info.keys[0] as number);
    return {
      value,
      probability: info.probabilities[0] as number,
      table_size: info.tableSizes[0] as number,
      priority: info.priorities[0] as number,
      times_sampled: info.timesSampled[0] as number,
    };
  }

  trajectoryWriter(args: Named): TrajectoryWriter {
    const found = this.#writer(args);
    if (!(found instanceof TrajectoryWriter)) throw new Malformed("this op is for trajectory writers");
    return found;
  }

  legacyWriter(args: Named): LegacyWriter {
    const found = this.#writer(args);
    if (found instanceof TrajectoryWriter) throw new Malformed("this op is for legacy writers");
    return found;
  }

  #writer({ writer = DEFAULT_WRITER }: Named): TrajectoryWriter | LegacyWriter {
    const found = this.writers.get(writer as string);
    if (found === undefined) throw new Malformed(`no writer ${JSON.stringify(writer)} was made`);
    return found;
  }

  anyWriter(args: Named): TrajectoryWriter | LegacyWriter {
    return this.#writer(args);
  }

  /** Everything through a snapshot, as a server's restart does; writers do not outlive it. */
  restart(): void {
    const { replay } = this.client;
    for (const writer of replay.writers) writer.close();
    this.writers.clear();
    const chunks = [...replay.snapshot()];
    replay.dispose();
    const signatures = Object.fromEntries(this.test.tables.flatMap((table) => Object.values(signatureOf(table)).map((signature) => [table.name, signature])));
    this.client = new LocalClient<Spec, string>(Replay.restore(chunks, { logger: null }), { signatures });
  }

  end(): void {
    this.client.replay.dispose();
  }
}

function definitionOf(table: TableArgs): NamedTable {
  return { name: table.name, ...tableOptions(table), ...signatureOf(table) };
}

/** A table's signature: `signature` has each leaf without its dimension of time, `item_signature` as it is. */
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

/** What a batch of one item shows, column by column, as nested plain values. */
function columnsOf(steps: unknown): unknown[] {
  const { data, shape } = steps as Column;
  if (ArrayBuffer.isView(data)) return [nestedColumn({ data, shape: shape.slice(1) } as Column)];
  return Object.values(steps as object).flatMap(columnsOf);
}
