/** Tests more column layouts than a word has bits, against a twin that stores the columns of each item. */
import { describe, expect, test } from "vitest";
import { memory } from "../../src/files/memory.ts";
import { f32, fifo, i32, minHeap, prioritized, queueLimiter, Replay, uniform } from "../../src/index.ts";
import { engineOf } from "../../src/replay/replay.ts";
import type { Writer } from "../../src/tables/writer.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf, errorOf, expectError, expectRefused } from "../support/refused.ts";
import type { AnyReplay } from "../support/scenes.ts";
import { scaled } from "../support/size.ts";

const spec = { x: i32(), y: f32(2) };
const LAYOUTS = 1000;
/** The number of column layouts up to which an engine keeps unused ones. */
const FEW = 1024;

interface Batch {
  readonly count: number;
  readonly info: { readonly keys: Float64Array };
  readonly steps: { readonly [name: string]: { readonly data: ArrayLike<number>; readonly shape: readonly number[] } };
}

/** Returns the columns of layout k: a uniquely named column, and the number of the last step, which identifies items of a table. */
function columnsOf(k: number) {
  return { [`c${k}`]: { leaf: "x", steps: [k % 4, -1 - (k % 3)] }, ys: { leaf: "y", from: -(k % 2) - 1 }, last: { leaf: "x", at: -1 } } as const;
}

/** The minimum number of steps of an item with layout k. */
const leastOf = (k: number) => 1 + Math.max(k % 4, k % 3);

/** Returns layout k for items of one step. */
const columnsOfOne = (k: number) => ({ [`c${k}`]: { leaf: "x", steps: [0, -1] }, ys: { leaf: "y", from: -(k % 2) - 1 } }) as const;

/** Returns the columns of an item of these steps. Without a layout, the columns contain whole steps. */
function shownOf(values: readonly number[], k: number | undefined): { [name: string]: number[] } {
  const pairs = (xs: readonly number[]) => xs.flatMap((x) => [x, 0 - x]);
  if (k === undefined) return { x: [...values], y: pairs(values) };
  return {
    [`c${k}`]: [values[k % 4] ?? 0, values.at(-1 - (k % 3)) ?? 0],
    ys: pairs([...new Array<number>(2).fill(0), ...values].slice(-(k % 2) - 1)),
    last: values.slice(-1),
  };
}

/** The items of a table by their last step, oldest first. */
type Twin = Map<number, { readonly [name: string]: number[] }>;

class Side {
  replay: AnyReplay;
  readonly twins: { readonly [table: string]: Twin } = { t: new Map(), ruled: new Map(), heap: new Map() };
  readonly #random: TestRandom;
  /** The steps in the episodes of the first and the second writer. */
  #own: number[] = [];
  #ruled: number[] = [];
  #x = 0;

  static readonly options = {
    spec,
    tables: {
      t: { maxSize: 1200 },
      ruled: { maxSize: 90, sampler: prioritized(), remover: fifo() },
      heap: { maxSize: 150, sampler: uniform(), remover: minHeap() },
    },
    seed: 5,
  };

  constructor(replay: AnyReplay, seed: number) {
    this.replay = replay;
    this.#random = new TestRandom(seed);
    replay.writer({ keep: 4 });
    replay.writer({ items: [{ table: "ruled", length: 3, columns: columnsOf(5000) }] });
  }

  get #writers(): readonly Writer<typeof spec, string>[] {
    return this.replay.writers as never;
  }

  run(operations: number): void {
    const random = this.#random;
    for (let i = 0; i < operations; i++) {
      const dice = random.next();
      if (dice < 0.8) this.#create(random.next() < 0.9 ? "t" : "heap");
      else if (dice < 0.84) this.#endEpisode();
      else if (dice < 0.88) this.#appendBlock(1 + random.below(40));
      else this.#draw(random.pick(["t", "t", "ruled", "heap"]));
    }
    this.check();
  }

  check(): void {
    const { t, ruled } = this.twins as { t: Twin; ruled: Twin };
    expect(this.replay.table("t").size).toBe(t.size);
    expect(this.replay.table("ruled").size).toBe(ruled.size);
    expect(broken(this.replay)).toEqual([]);
  }

  #create(name: string): void {
    const [writer] = this.#writers as [Writer<typeof spec, string>];
    const x = ++this.#x;
    writer.append({ x, y: [x, -x] });
    this.#own.push(x);
    const most = Math.min(4, this.#own.length);
    const drawn = this.#random.below(LAYOUTS);
    const k = name !== "t" ? undefined : leastOf(drawn) > most ? 0 : drawn;
    const least = k === undefined ? 1 : leastOf(k);
    const length = least + this.#random.below(most - least + 1);
    writer.createItem(name, { length, priority: this.#random.below(9), ...(k !== undefined && { columns: columnsOf(k) }) });
    this.#note(name, this.#own.slice(-length), k, 1200);
  }

  #note(name: string, values: readonly number[], k: number | undefined, most: number): void {
    const twin = this.twins[name] as Twin;
    twin.set(values.at(-1) as number, shownOf(values, k));
    if (name !== "heap" && twin.size > most) twin.delete(twin.keys().next().value as number);
  }

  #endEpisode(): void {
    const [own, ruled] = this.#writers;
    own?.endEpisode();
    ruled?.endEpisode();
    this.#own = [];
    this.#ruled = [];
  }

  #appendBlock(rows: number): void {
    const values = Array.from({ length: rows }, () => ++this.#x);
    this.#writers[1]?.appendColumns({ x: Int32Array.from(values), y: Float32Array.from(values.flatMap((x) => [x, -x])) });
    for (const x of values) {
      this.#ruled.push(x);
      if (this.#ruled.length >= 3) this.#note("ruled", this.#ruled.slice(-3), 5000, 90);
    }
  }

  /** Draws an item, and compares its columns with the twin. Sometimes deletes the item. */
  #draw(name: string): void {
    const table = this.replay.table(name);
    if (table.size === 0) return;
    const { steps, info } = table.sample(1) as unknown as Batch;
    const data = Object.fromEntries(Object.entries(steps).map(([column, { data }]) => [column, Array.from(data)]));
    const last = (data.last ?? data.x)?.at(-1) as number;
    expect(data).toEqual((this.twins[name] as Twin).get(last));
    if (this.#random.next() > 0.3) return;
    table.delete(info.keys);
    this.twins[name]?.delete(last);
  }
}

describe("a thousand layouts in one Replay", () => {
  test("show each item as created, through evictions, deletions, blocks and restored snapshots", () => {
    const side = new Side(new Replay(Side.options) as unknown as AnyReplay, 1);
    for (let session = 0; session < 4; session++) {
      side.run(scaled(8000, 300));
      const bytes = bytesOf(side.replay);
      const again = Replay.restore(bytes) as unknown as AnyReplay;
      expect(bytesOf(again).equals(bytes)).toBe(true);
      side.replay.dispose();
      side.replay = again;
    }
    const { columnLayouts } = engineOf(side.replay as unknown as Replay);
    expect(columnLayouts.size).toBeGreaterThan(400);
    // Several items drawn together have no columns in common.
    expect(() => side.replay.table("t").sample(2)).toThrow(/different columns/);
    expect(side.replay.table("t").sample(64, { columns: { x: { leaf: "x", at: -1 } } }).count).toBe(64);
    // If all items have the same columns, the batch contains them.
    expect(Object.keys(side.replay.table("ruled").sample(2).steps as object)).toEqual(["c5000", "ys", "last"]);
  });

  test("are restored from a journal after a crash", async () => {
    let dir = memory();
    const options = { segmentBytes: 65_536, durability: "manual" } as const;
    const side = new Side((await Replay.open({ dir, ...Side.options, ...options })) as unknown as AnyReplay, 2);
    for (let session = 0; session < 4; session++) {
      side.run(scaled(4000, 200));
      await side.replay.flush();
      const before = bytesOf(side.replay);
      dir = dir.crash();
      side.replay = (await Replay.open({ dir, ...options })) as unknown as AnyReplay;
      expect(layoutsIn(bytesOf(side.replay))).toEqual(layoutsIn(before));
      side.check();
    }
  });
});

test("the journal stays below twice its live bytes plus two segments, with one layout per item", async () => {
  const dir = memory();
  const options = { segmentBytes: 32_768, durability: "manual" } as const;
  const replay = await Replay.open({ dir, spec, tables: { t: { maxSize: 1500 } }, ...options });
  const writer = replay.writer();
  let max = 0;
  for (let k = 0; k < scaled(12_000, 1000); k++) {
    writer.append({ x: k, y: [0, 0] });
    writer.createItem("t", { length: 1, columns: { [`episode${k}`]: { leaf: "x", at: 0 } } as never });
    if (k % 20 !== 0) continue;
    replay.journal.keep(k);
    if (k % 200 !== 0) continue;
    const { bytes, liveBytes } = replay.journal.stats;
    expect(bytes).toBeLessThanOrEqual(2 * liveBytes + 2 * options.segmentBytes);
    max = Math.max(max, bytes);
  }
  expect(max).toBeGreaterThan(4 * options.segmentBytes);
  await replay.flush();
  const again = await Replay.open({ dir: dir.crash(), ...options });
  expect(layoutsIn(bytesOf(again))).toEqual(layoutsIn(bytesOf(replay)));
  for (let i = 0; i < 50; i++) {
    const { steps } = again.table("t").sample(1) as unknown as Batch;
    expect(Object.entries(steps).map(([name, { data }]) => name === `episode${data[0]}`)).toEqual([true]);
  }
});

/** Returns the sections of layouts in a snapshot, as text. */
function layoutsIn(bytes: Buffer): string[] {
  const found: string[] = [];
  for (let at = 8; at < bytes.length; at += 16 + bytes.readUInt32LE(at + 8))
    if (bytes.readUInt32LE(at) === 43) found.push(bytes.subarray(at, at + 16 + bytes.readUInt32LE(at + 8)).toString("latin1"));
  expect(found.length).toBeGreaterThan(2);
  return found;
}

test("unused layouts are released if every episode has a new layout", () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 1, maxPending: 0 }, u: { maxSize: 3 } } });
  const { columnLayouts } = engineOf(replay as unknown as Replay);
  const ruled = replay.writer({ items: [{ table: "u", length: 1, columns: columnsOfOne(1) }] });
  const writer = replay.writer();
  for (let k = 0; k < 3 * FEW; k++) {
    writer.append({ x: k, y: [0, 0] });
    writer.createItem("t", { length: 1, columns: { [`episode${k}`]: { leaf: "x", at: 0 } } as never });
    writer.endEpisode();
    expect(columnLayouts.size).toBeLessThanOrEqual(FEW);
    if (k % 100 !== 0) continue;
    const { steps } = replay.table("t").sample(1) as unknown as Batch;
    expect(Object.entries(steps).map(([name, { data }]) => [name, data[0]])).toEqual([[`episode${k}`, k]]);
  }
  // A layout used by a rule stays stored, even before the rule creates an item.
  ruled.append({ x: 7, y: [0, 0] });
  expect(Object.keys(replay.table("u").sample(1).steps)).toEqual(Object.keys(columnsOfOne(1)));
  ruled.close();
  replay.table("t").clear();
  replay.table("u").clear();
  columnLayouts.sweep();
  expect(columnLayouts.size).toBe(0);
  expect(broken(replay)).toEqual([]);
});

test("rules keep all their layouts, even above the limit of stored layouts", () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 2 * FEW, sampler: fifo(), maxTimesSampled: 1 } } });
  const writer = replay.writer({ items: Array.from({ length: FEW + 10 }, (_, k) => ({ table: "t", length: 1, columns: columnsOfOne(k) }) as const) });
  writer.append({ x: 3, y: [1, 2] });
  for (let k = 0; k < FEW + 10; k++) expect(Object.keys(replay.table("t").sample(1).steps)[0]).toBe(`c${k}`);
});

test("waiting items keep their layouts", () => {
  const replay = new Replay({ spec, tables: { q: { maxSize: 50, sampler: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(2), maxPending: 50 } } });
  const writer = replay.writer();
  writer.append({ x: 9, y: [1, 2] });
  const waits = Array.from({ length: 50 }, (_, k) => writer.createItem("q", { length: 1, columns: columnsOfOne(k) }));
  const again = Replay.restore(bytesOf(replay)) as unknown as typeof replay;
  for (const one of [replay, again]) {
    for (let k = 0; k < 50; k++) expect(Object.keys(one.table("q").sample(1).steps)[0]).toBe(`c${k}`);
    expect(broken(one)).toEqual([]);
  }
  expect(waits.filter((one) => one !== undefined).length).toBe(48);
});

test("the first item with columns is rejected if memory is full, and changes nothing", () => {
  const options = { spec, tables: { t: { maxSize: 3000 } } };
  const replay = new Replay({ ...options, maxBytes: Replay.plan(options).bytes });
  const writer = replay.writer({ keep: 4 });
  writer.append({ x: 1, y: [1, 2] });
  writer.createItem("t", { length: 1 });
  // Allocates the state that a snapshot needs while memory is available.
  bytesOf(replay);
  const hoard: { close(): void }[] = [];
  for (const keep of [5000, 1]) {
    const error = errorOf(() => {
      for (;;) hoard.push(replay.writer({ keep }));
    });
    expectError(error, "OUT_OF_MEMORY");
  }
  const { writers } = replay.stats();
  expectRefused(replay, () => writer.createItem("t", { length: 1, columns: columnsOfOne(1) }), "OUT_OF_MEMORY", /maxBytes/);
  expectRefused(replay, () => replay.writer({ items: [{ table: "t", length: 1, columns: columnsOfOne(2) }] }), "OUT_OF_MEMORY", /maxBytes/);
  expect(replay.stats().writers).toBe(writers);
  expect(broken(replay)).toEqual([]);
  writer.createItem("t", { length: 1 });
  for (const one of hoard) one.close();
  writer.createItem("t", { length: 1, columns: columnsOfOne(1) });
  expect(replay.table("t").size).toBe(3);
  expect(broken(replay)).toEqual([]);
});

test("a snapshot whose items name a missing layout is CORRUPT", () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 3 } } });
  const writer = replay.writer();
  writer.append({ x: 1, y: [1, 2] });
  writer.createItem("t", { length: 1, columns: columnsOfOne(1) });
  const { columnLayouts } = engineOf(replay as unknown as Replay);
  columnLayouts.chunks.clear();
  expectError(
    errorOf(() => Replay.restore(bytesOf(replay))),
    "CORRUPT",
    /is inconsistent/,
  );
});
