/** Runs a client and its twins with the same inputs: steps, items and columns. */

import { type Column, f32, fifo, i32, lifo, maxHeap, minHeap, type RateLimiter } from "../../../src/index.ts";
import { LocalClient, type ReplaySample, Table, type TrajectoryWriter } from "../../../src/tf-agents/index.ts";
import { ClientTwin, type Order, type TwinTableOptions } from "../../support/client-twin.ts";
import type { TestRandom } from "../../support/random.ts";

export const SPEC = { a: i32(), b: f32(2) } as const;

const SELECTORS = { fifo, lifo, minHeap, maxHeap };
const ORDERS: readonly Order[] = ["fifo", "lifo", "minHeap", "maxHeap"];
const OPEN = { minDiff: -Number.MAX_VALUE, maxDiff: Number.MAX_VALUE };

function optionsOf(random: TestRandom, name: string): TwinTableOptions {
  const maxSize = 1 + random.below(6);
  const kind = random.below(4);
  if (kind === 0) return { name, maxSize, sampler: "fifo", remover: "fifo", maxTimesSampled: 1, samplesPerInsert: 1, minSize: 1, minDiff: 0, maxDiff: maxSize };
  const limiter =
    kind === 1
      ? { samplesPerInsert: 2, minSize: 1, minDiff: -2, maxDiff: 6 }
      : { samplesPerInsert: 1, minSize: 1 + random.below(Math.min(2, maxSize)), ...OPEN };
  return { name, maxSize, sampler: random.pick(ORDERS), remover: random.pick(ORDERS), maxTimesSampled: random.below(4), ...limiter };
}

function defined({ name, maxSize, sampler, remover, maxTimesSampled, ...rest }: TwinTableOptions): Table {
  const rateLimiter: RateLimiter = rest;
  return new Table({ name, maxSize, sampler: SELECTORS[sampler](), remover: SELECTORS[remover](), maxTimesSampled, rateLimiter });
}

/** The columns that items of a scene can have. Each specifies a field, and how far back it starts. */
const SHAPES: readonly (readonly [name: string, field: "a" | "b", from: number, squeezed: boolean][])[] = [
  [
    ["a", "a", 2, false],
    ["b", "b", 2, false],
  ],
  [
    ["a", "a", 3, false],
    ["b", "b", 3, false],
  ],
  [
    ["p", "a", 3, false],
    ["q", "b", 1, false],
  ],
  [["x", "a", 1, true]],
  [
    ["x", "a", 1, true],
    ["y", "b", 2, false],
  ],
];

export class Scene {
  readonly client: LocalClient<typeof SPEC>;
  readonly tables: readonly Table[];
  readonly twins: ReadonlyMap<string, ClientTwin>;
  readonly names: readonly string[];
  readonly random: TestRandom;
  /** The keys of the items that samples have shown, by table and by the number of the item. */
  readonly keys = new Map<string, Map<number, number>>();
  #items = 0;
  #episodes = 1;
  #episode = 0;
  #steps: (readonly [number, readonly number[]])[] = [];
  #writer: TrajectoryWriter<typeof SPEC>;

  constructor(random: TestRandom) {
    this.random = random;
    const options = Array.from({ length: 1 + random.below(2) }, (_, i) => optionsOf(random, `t${i}`));
    this.names = options.map(({ name }) => name);
    this.tables = options.map(defined);
    this.twins = new Map(options.map((one) => [one.name, new ClientTwin(one)]));
    this.client = LocalClient.of({ spec: SPEC, tables: this.tables, seed: 5, maxBytes: 2 ** 24, logger: null });
    this.#writer = this.client.trajectoryWriter({ numKeepAliveRefs: 3 });
  }

  twin(name: string): ClientTwin {
    return this.twins.get(name) as ClientTwin;
  }

  /** Inserts one step into several tables that have room. */
  insert(): void {
    const into = this.names.filter((name) => this.twin(name).canInsert() && this.random.below(4) > 0);
    if (into.length === 0) return;
    const step = this.#step();
    const [a, b] = step;
    const priorities = Object.fromEntries(into.map((name) => [name, this.random.below(5)]));
    if (this.client.insert({ a, b }, priorities) !== undefined) throw new Error("it waits");
    const episode = this.#episodes++;
    for (const name of into)
      this.twin(name).insert({ id: this.#items, episode, columns: [[a], [b]], squeezed: [false, false], priority: priorities[name] as number });
    this.#items++;
  }

  /** Appends a step with the trajectory writer, and creates an item of the last steps if there are enough. */
  write(): void {
    const [a, b] = this.#step();
    this.#writer.append({ a, b });
    this.#steps.push([a, b]);
    const table = this.random.pick(this.names);
    const shape = this.random.pick(SHAPES);
    const need = Math.max(...shape.map(([, , from]) => from));
    const twin = this.twin(table);
    if (this.#steps.length >= need && twin.canInsert()) {
      const priority = this.random.below(5);
      const { history } = this.#writer;
      const columns = shape.map(([name, field, from, squeezed]) => [name, squeezed ? history[field].at(-from) : history[field].slice(-from)]);
      this.#writer.createItem(table, priority, Object.fromEntries(columns));
      const values = shape.map(([, field, from, squeezed]) =>
        this.#steps.slice(-from, squeezed ? this.#steps.length - from + 1 : undefined).map((one) => one[field === "a" ? 0 : 1]),
      );
      twin.insert({ id: this.#items++, episode: this.#episode, columns: values, squeezed: shape.map((one) => one[3]), priority });
    }
    if (this.random.below(5) > 0) return;
    this.#writer.endEpisode();
    this.#steps = [];
    this.#episode = this.#episodes++;
  }

  /** Returns the keys of a table's items. */
  keysOf(table: string): Map<number, number> {
    const keys = this.keys.get(table) ?? new Map<number, number>();
    this.keys.set(table, keys);
    return keys;
  }

  /** Returns the info of a sample with the number of its item instead of the key. @param id the expected item, if the key is new */
  plain(table: string, { info: { key, ...info } }: ReplaySample, id: number): object {
    const keys = this.keysOf(table);
    const known = [...keys].find(([, one]) => one === key);
    if (known === undefined && !keys.has(id)) keys.set(id, key as number);
    return { id: known?.[0] ?? (keys.get(id) === key ? id : undefined), ...info };
  }

  #step(): readonly [number, readonly number[]] {
    return [this.random.below(1000), [this.random.below(100), this.random.below(100) / 4]];
  }
}

/** Returns columns as plain arrays, or as a number for a column with a single number. */
export function plainColumns(data: readonly Column[]): unknown[] {
  return data.map((column) => column.toArray());
}
