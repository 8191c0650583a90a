/** What the ops of a case act on: a Replay with the case's tables, the writers made so far, and the keys that samples have told. */
import { type Column, Replay, type Spec, type Table, type Writer } from "../../src/index.ts";
import { restore, snapshot } from "../../src/snapshot/index.ts";
import { Malformed, type TableCase } from "./case.ts";
import { History } from "./history.ts";
import { type Branch, specOf, zeros } from "./step-spec.ts";
import { tableOptions } from "./table-options.ts";

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
  replay: Replay;
  /** Trajectory and legacy writers, by the name that the ops give them. */
  readonly histories = new Map<string, History>();
  /** The writers behind `insert`, by the tables that they write to. */
  readonly #inserters = new Map<string, Writer>();
  /** By table and value. */
  readonly #keys = new Map<string, number>();
  /** What `create_item` takes where it names no steps. */
  held: ReturnType<History["pick"]> | undefined;

  constructor(test: TableCase) {
    this.test = test;
    this.spec = specOf(test);
    const tables = Object.fromEntries(test.tables.map((table) => [table.name, tableOptions(table)]));
    this.replay = new Replay<Spec, string>({ spec: this.spec, tables, seed: SEED, maxBytes: MAX_BYTES });
  }

  /** The table of an op. */
  nameOf(args: { readonly table?: unknown }): string {
    const names = this.test.tables.map((table) => table.name);
    return (args.table ?? (names.includes("t") ? "t" : names[0])) as string;
  }

  table(name: string): Table {
    return this.replay.table(name);
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

  /** An episode of one step, and an item of it in each of the tables: `Client.insert`. */
  insert(value: number, priorities: { readonly [table: string]: number }): Writer {
    const tables = Object.keys(priorities);
    const known = this.#inserters.get(tables.join("\n"));
    const writer = known ?? this.replay.writer({ keep: 1, items: tables.map((table) => ({ table, length: 1, columns: { 0: { leaf: "insert" } } })) });
    this.#inserters.set(tables.join("\n"), writer);
    writer.appendColumns({ ...(zeros(this.spec) as object), insert: Float64Array.of(value) }, { ends: [1], priorities: eachOne(priorities) });
    return writer;
  }

  writer(name: string, keep: number, across: boolean): void {
    this.histories.set(name, new History(this.replay.writer({ keep, across }), this.spec.step ?? {}, across));
  }

  history({ writer = DEFAULT_WRITER }: { readonly writer?: unknown }): History {
    const found = this.histories.get(writer as string);
    if (found === undefined) throw new Malformed(`no writer ${JSON.stringify(writer)} was made`);
    return found;
  }

  /** Appends to a branch; the others hold zeros. */
  append(history: History, branch: Branch, data: unknown): void {
    history.append({ ...(zeros(this.spec) as object), [branch]: data });
  }

  /** Everything through a snapshot, as a server's restart does; writers do not outlive it. */
  restart(): void {
    for (const writer of this.replay.writers) writer.close();
    this.histories.clear();
    this.#inserters.clear();
    const chunks = [...snapshot(this.replay)];
    this.replay.dispose();
    this.replay = restore(chunks);
  }

  end(): void {
    this.replay.dispose();
  }
}

function eachOne(priorities: { readonly [table: string]: number }): { [table: string]: number[] } {
  return Object.fromEntries(Object.entries(priorities).map(([table, priority]) => [table, [priority]]));
}

/** What a batch of one item shows, column by column, as nested plain values. */
function columnsOf(steps: unknown): unknown[] {
  return Object.values(steps as { [name: string]: Column }).map(({ data, shape }) => nested([...data].map(Number), shape.slice(1)));
}

function nested(values: readonly number[], shape: readonly number[]): unknown {
  if (shape.length === 0) return values[0];
  const [n = 0, ...rest] = shape;
  const each = values.length / n;
  return Array.from({ length: n }, (_, i) => nested(values.slice(i * each, (i + 1) * each), rest));
}
