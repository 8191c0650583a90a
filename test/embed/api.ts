/** Makes calls to the public TypeScript API, and returns the results in the form that embed.wasm uses. */

import { COUNTERS } from "../../src/base/abi.ts";
import { checkNormalize } from "../../src/batch/options.ts";
import type { AnyTransitions } from "../../src/batch/transitions/transition-batch.ts";
import { type Batch, Replay } from "../../src/index.ts";
import type { Table } from "../../src/tables/table.ts";
import type { Writer } from "../../src/tables/writer.ts";
import type { Append, Call, End } from "./calls.ts";
import { itemColumns, type OwnColumns, transitionColumns } from "./columns.ts";
import { join, type Values } from "./values.ts";
import type { World, WorldView } from "./world.ts";

export class Api {
  readonly #world: World;
  readonly #values: Values;
  readonly #tables: readonly string[];
  #replay: Replay;
  #writers: readonly Writer[] = [];
  #views: readonly ((n: number, beta: number) => unknown)[];
  #batch!: Batch & AnyTransitions;

  /** @throws the error that rejects the options of the world */
  constructor(world: World, values: Values) {
    this.#world = world;
    this.#values = values;
    const { spec, roles, tables, seed, storedBytes } = world;
    this.#tables = Object.keys(tables);
    this.#replay = new Replay({ spec, tables, seed, storedBytes, transition: roles, logger: null } as object as ConstructorParameters<typeof Replay>[0]);
    this.openWriters();
    this.#views = this.#look();
  }

  /** Makes a call and returns the result that embed.wasm returns for the same call. @throws the error that rejects the call */
  play(call: Call): number {
    switch (call.call) {
      case "append":
        return this.#waiting(() => this.#append(call));
      case "end":
        return this.#waiting(() => this.#end(call));
      case "item": {
        const { lane, length, priority } = call;
        const waits = (this.#writers[call.writer] as Writer).createItem(this.#tables[call.table] as string, { lane, length, priority });
        waits?.catch(() => {});
        return Number(waits === undefined);
      }
      case "sample":
        this.#batch = (this.#views[call.view] as (n: number, beta: number) => unknown)(call.n, call.beta) as Batch & AnyTransitions;
        return this.#batch.count;
      case "update":
        return this.#table(call.table).updatePriorities(call.keys, call.priorities);
      case "delete":
        return this.#table(call.table).delete(call.keys);
    }
  }

  /** Why the last batch has fewer items than requested. Batches of transitions do not report this. */
  get blocked(): string | undefined {
    return this.#batch.blocked?.by;
  }

  /** Returns the keys of the last batch. */
  get keys(): Float64Array {
    const { info, keys } = this.#batch;
    return (info === undefined ? keys : info.keys).slice(0, this.#batch.count) as Float64Array;
  }

  /** Returns the columns of the last batch. @param view the number of the view that returned the batch */
  columns(view: number): OwnColumns {
    const { transitions } = this.#world.views[view] as WorldView;
    return transitions === undefined ? itemColumns(this.#batch, this.#values.leaves) : transitionColumns(this.#batch);
  }

  /** Returns the numbers of `replay_stats` for each table, except the bytes in use. */
  stats(): number[][] {
    const { steps, tables } = this.#replay.stats();
    return Object.entries(tables).map(([name, stats]) => [...COUNTERS.map((counter) => stats[counter]), (this.#writers[0] as Writer).lastKey(name), steps]);
  }

  snapshot(): Uint8Array {
    return join([...this.#replay.snapshot()]);
  }

  /** Replaces the Replay with one that is restored from a snapshot. */
  restore(snapshot: Uint8Array): void {
    this.#replay = Replay.restore(snapshot, { logger: null });
    this.#writers = [...this.#replay.writers] as Writer[];
    this.#views = this.#look();
  }

  closeWriters(): void {
    for (const writer of this.#writers) writer.close();
  }

  /** Opens the writers of the world. */
  openWriters(): void {
    this.#writers = this.#world.writers.map((options) => this.#replay.writer(options as object) as unknown as Writer);
  }

  #look(): ((n: number, beta: number) => unknown)[] {
    return this.#world.views.map(({ table, transitions, sample, weights }) => {
      const from = this.#replay.table(table) as Table;
      const view = (transitions === undefined ? from : from.transitions(transitions as never)) as { sample(n: number, options: object): unknown };
      // embed.wasm checks the weights when it creates the view, but TypeScript checks them only when it samples. So they are checked here.
      checkNormalize(table, from.options.sampler, weights);
      return (n, beta) => view.sample(n, { ...sample, ...(weights && { beta }) });
    });
  }

  #table(number: number): Table {
    return this.#replay.table(this.#tables[number] as string) as Table;
  }

  /** Makes a call. Returns the change in the number of items that wait for rate limiters. */
  #waiting(call: () => void): number {
    const pending = () => Object.values(this.#replay.stats().tables).reduce((sum, table) => sum + table.pending, 0);
    const before = pending();
    call();
    return pending() - before;
  }

  #append({ writer: number, steps, ends, finals }: Append): void {
    const values = this.#values;
    const writer = this.#writers[number] as Writer;
    if (ends === undefined) {
      writer.append(values.columns(steps, steps.length === 1) as never);
      return;
    }
    const flags = (...of: number[]) => ends.map((how) => Number(of.includes(how)));
    const options = {
      ...(ends.some((how) => how > 0) && { terminated: flags(3), truncated: flags(2) }),
      ...(ends.includes(1) && { ends: flags(1) }),
      ...(finals && { final: values.columns(finals) }),
    };
    writer.appendColumns(values.columns(steps) as never, options as object);
  }

  #end({ writer, lane, how, final }: End): void {
    const options = { lane, ...(how > 1 && { terminated: how === 3 }), ...(final && { final: this.#values.columns([final], true) }) };
    (this.#writers[writer] as Writer).endEpisode(options as object);
  }
}
