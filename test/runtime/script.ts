/** Runs the script of the digest: the operations of a scene, chosen with a seeded generator. All results are written to the sinks. */
import { type Batch, type Column, type ColumnSet, Replay, ReplayError, type SampleOptions, type Spec, type Table, type Writer } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import type { Scene } from "./scenes.ts";
import type { Sink } from "./sink.ts";

const STATS_EVERY = 64;

/** The targets of the output. Snapshots have a separate sink, because only their format may change. */
export interface Sinks {
  readonly outputs: Sink;
  readonly snapshots: Sink;
}

export async function play(scene: Scene, sinks: Sinks, module: WebAssembly.Module | undefined): Promise<void> {
  const player = new Player(scene, sinks, module);
  sinks.outputs.text(scene.name);
  for (let i = 0; i < scene.ops; i++) {
    player.step(i);
    await sinks.outputs.drain();
    await sinks.snapshots.drain();
  }
  player.end();
}

class Player {
  readonly #scene: Scene;
  readonly #sink: Sink;
  readonly #snapshots: Sink;
  readonly #module: WebAssembly.Module | undefined;
  readonly #random = new TestRandom(20260);
  #replay: Replay<Spec, string>;
  /** The keys that were last returned by any table. */
  #keys: Float64Array = Float64Array.of(0, 1, 2);
  /** Batches that later draws with the same table and options refill. */
  readonly #batches = new Map<string, Batch<unknown>>();
  #time = 0;

  constructor(scene: Scene, { outputs, snapshots }: Sinks, module: WebAssembly.Module | undefined) {
    this.#scene = scene;
    this.#sink = outputs;
    this.#snapshots = snapshots;
    this.#module = module;
    this.#replay = new Replay<Spec, string>({ ...scene.options, module, logger: null });
    for (const options of scene.writers) this.#replay.writer(options);
  }

  step(i: number): void {
    const random = this.#random;
    if (i === this.#scene.ops >> 1) this.#restart();
    const table = random.pick(Object.values(this.#replay.tables));
    const writer = random.pick(this.#replay.writers);
    if (i % STATS_EVERY === 0) this.#stats();
    try {
      this.#any(random.below(100), table, writer);
    } catch (error) {
      // Every runtime rejects the same calls.
      if (!(error instanceof ReplayError || error instanceof RangeError)) throw error;
      this.#sink.text(error instanceof ReplayError ? error.code : error.name);
    }
  }

  end(): void {
    this.#stats();
    this.#snapshot();
    this.#replay.dispose();
  }

  #any(kind: number, table: Table, writer: Writer): void {
    const random = this.#random;
    const sink = this.#sink;
    if (kind < 18) this.#append(writer, 1, () => writer.append(this.#scene.step(random, this.#time)));
    else if (kind < 26) {
      this.#scene.stage(writer.staged as never, random, this.#time);
      this.#append(writer, 1, () => writer.append());
    } else if (kind < 33) this.#appendColumns(writer);
    else if (kind < 38) {
      const lane = random.below(writer.options.lanes);
      writer.endEpisode(random.below(3) === 0 ? {} : { lane });
    } else if (kind < 46) this.#createItem(table, writer);
    else if (kind < 78) this.#sample(table);
    else if (kind < 88) {
      const keys = this.#keys.slice(0, 1 + random.below(this.#keys.length));
      sink.number(
        table.updatePriorities(
          keys,
          Float64Array.from(keys, () => (random.below(9) === 0 ? 0 : random.next() * 4)),
        ),
      );
    } else if (kind < 92) sink.number(table.delete(this.#keys.slice(0, 1 + random.below(3))));
    else if (kind < 98) for (const key of this.#keys.subarray(0, 4)) sink.value(table.explain(key));
    else if (kind < 99) {
      const n = 1 + random.below(20);
      sink.value([table.canSample(n), table.canInsert(n), table.ready(n), table.size, writer.length, writer.episodeSteps].map(Number));
    } else if (random.below(8) === 0) table.clear();
  }

  #append(writer: Writer, steps: number, append: () => void): void {
    this.#time += steps;
    append();
    this.#sink.number(writer.episodeSteps);
    for (const table of Object.values(this.#replay.tables)) this.#sink.number(table.size);
  }

  #appendColumns(writer: Writer): void {
    const random = this.#random;
    const rows = 1 + random.below(12);
    const columns = this.#scene.columns(random, this.#time, rows);
    const { lanes, items } = writer.options;
    const each = (make: () => number) => Float64Array.from({ length: rows * lanes }, make);
    const priorities = Object.fromEntries(items.filter(() => random.below(2) === 0).map(({ table }) => [table, each(() => random.next() * 3)]));
    const ends = random.below(2) === 0 ? { ends: each(() => (random.below(6) === 0 ? 1 : 0)) } : {};
    this.#append(writer, rows, () => this.#sink.number(writer.appendColumns(columns, { priorities, ...ends })));
  }

  #createItem(table: Table, writer: Writer): void {
    const random = this.#random;
    const { keep, lanes } = writer.options;
    const columns = random.pick(this.#scene.columnSets) as never;
    const options = { length: 1 + random.below(random.below(4) === 0 ? keep : 3), priority: random.next() * 5, lane: random.below(lanes) };
    // An item with its own columns has no n-step bootstrap.
    const shaped = random.below(4) === 0 && !JSON.stringify(columns).includes("bootstrap");
    const waits = writer.createItem(table, shaped ? { ...options, columns } : options);
    this.#sink.text(waits === undefined ? "in" : "waits");
    this.#sink.value(table.explain(writer.lastKey(table)));
  }

  #sample(table: Table): void {
    const random = this.#random;
    const { max, nStep, columnSets } = this.#scene;
    const n = 1 + random.below(max.batch);
    const maybe = (odds: number, options: SampleOptions) => (random.below(odds) === 0 ? options : {});
    const options = {
      ...maybe(5, { replacement: false }),
      ...maybe(5, { stratified: true }),
      ...maybe(6, { among: 1 + random.below(20) }),
      ...maybe(3, { beta: random.next(), normalize: random.pick(["batch", "table", "none"] as const) }),
      ...maybe(3, { offset: random.pick(["start", "end", "uniform"] as const) }),
      ...maybe(4, { cross: true }),
      ...maybe(3, { mask: true }),
      ...maybe(4, { columns: random.pick(columnSets) }),
      ...maybe(3, { nStep }),
      ...maybe(3, { length: 1 + random.below(max.length) }),
    } as SampleOptions<string, ColumnSet<Spec>>;
    // A bootstrap requires the corresponding return.
    if (JSON.stringify(options.columns ?? {}).includes("bootstrap")) Object.assign(options, { nStep });
    if (random.below(4) === 0 && "length" in options) {
      const form = JSON.stringify([table.name, n, { ...options, among: 0 }]);
      const into = this.#batches.get(form) ?? table.batch(n, options as typeof options & { length: number });
      this.#batches.set(form, into);
      this.#give(table.sample(n, { ...options, into }), n);
    } else this.#give(table.sample(n, options), n);
  }

  /** Adds the content of a batch, up to its count. */
  #give(batch: Batch<unknown>, n: number): void {
    const sink = this.#sink;
    const { count, steps, lengths, mask, info, nStep, blocked } = batch;
    const part = (data: ArrayBufferView & { readonly length: number; subarray(from: number, to: number): ArrayBufferView }) =>
      sink.array(data.subarray(0, (data.length / n) * count));
    sink.number(count);
    sink.value(blocked);
    walk(steps, (column) => {
      sink.value(column.shape);
      part(column.data);
    });
    part(lengths);
    if (mask !== undefined) part(mask);
    for (const arrays of [info, nStep ?? {}]) {
      for (const [name, array] of Object.entries(arrays as { [name: string]: unknown })) {
        sink.text(name);
        part(array as Float64Array);
      }
    }
    if (count > 0) this.#keys = info.keys.slice(0, count);
  }

  /** Adds every counter except the memory in use, which is not guaranteed. */
  #stats(): void {
    const { steps, tables, writers } = this.#replay.stats();
    this.#sink.value({ steps, tables, writers });
  }

  /** Adds the bytes of a snapshot to the sink for snapshots. Returns its chunks. */
  #snapshot(): Uint8Array[] {
    const chunks = [...this.#replay.snapshot()];
    for (const chunk of chunks) this.#snapshots.array(chunk);
    return chunks;
  }

  #restart(): void {
    const chunks = this.#snapshot();
    this.#replay.dispose();
    this.#batches.clear();
    this.#replay = Replay.restore<Spec, string>(chunks, { module: this.#module, logger: null });
  }
}

function walk(node: unknown, visit: (column: Column) => void): void {
  if (ArrayBuffer.isView((node as Column).data)) visit(node as Column);
  else for (const key of Object.keys(node as object)) walk((node as { [key: string]: unknown })[key], visit);
}
