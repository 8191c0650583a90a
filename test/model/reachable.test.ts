/** Checks that after a million operations with each remover, the held steps are exactly those reachable from live items, waiting items and windows. */
import { describe, expect, test } from "vitest";
import { fifo, lifo, maxHeap, minHeap, prioritized, type Selector, uniform } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { plain, Rig, type RigOptions } from "./rig.ts";

const OPERATIONS = scaled(1_000_000);
const CHECKS = 10;
const KEEP = 12;

/** Stores every item that was ever created in typed arrays: a key and a run of steps. */
class Items {
  keys = new Float64Array(1 << 16);
  first = new Uint32Array(1 << 16);
  length = new Uint8Array(1 << 16);
  count = 0;

  add(key: number, first: number, length: number): void {
    this.keys[this.count] = key;
    this.first[this.count] = first;
    this.length[this.count] = length;
    this.count++;
  }

  /** Forgets items that the core no longer has. */
  sift(has: (key: number) => boolean): void {
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      if (!has(this.keys[i] as number)) continue;
      this.keys[kept] = this.keys[i] as number;
      this.first[kept] = this.first[i] as number;
      this.length[kept] = this.length[i] as number;
      kept++;
    }
    this.count = kept;
  }

  get full(): boolean {
    return this.count === this.keys.length;
  }
}

/** A writer whose steps are numbered from `base` + 1. */
interface Counted {
  readonly writer: number;
  readonly stream: number;
  readonly base: number;
  newest: number;
  length: number;
}

/** Two writers that take turns, so that the steps of an item are not always adjacent in the pool. */
class Streams {
  readonly rig: Rig;
  readonly #writers: readonly Counted[];

  constructor(rig: Rig) {
    const { x } = rig;
    this.rig = rig;
    const writer = x.arena_alloc(x.writer_bytes(1, 0, KEEP));
    x.writer_init(writer, rig.pool, 1, 0, KEEP, 1, 0, 0);
    const stream = x.writer_stream(writer, 0);
    rig.refresh();
    this.#writers = [
      { writer: rig.writer, stream: rig.stream, base: 0, newest: 0, length: 0 },
      { writer, stream, base: OPERATIONS, newest: 0, length: 0 },
    ];
  }

  append(k: number): void {
    const one = this.#writers[k] as Counted;
    one.newest++;
    one.length = Math.min(one.length + 1, KEEP);
    this.rig.append(one.base + one.newest, one.writer);
  }

  create(k: number, length: number, priority: number, items: Items): void {
    const { stream, base, newest, length: max } = this.#writers[k] as Counted;
    const code = this.rig.create(Math.min(length, max), priority, stream);
    if (code >= 0) items.add(this.rig.newest(), base + newest - Math.min(length, max) + 1, Math.min(length, max));
  }

  end(k: number): void {
    const one = this.#writers[k] as Counted;
    // The steps of the second writer stay stored.
    this.rig.x.stream_end(one.stream, k);
    if (k === 0) one.length = 0;
  }

  /** Returns whether a writer has recent steps. */
  any(k: number): boolean {
    return (this.#writers[k] as Counted).length > 0;
  }

  mark(held: Uint8Array): void {
    for (const { base, newest, length } of this.#writers) held.fill(1, base + newest - length + 1, base + newest + 1);
  }

  clear(): void {
    for (const one of this.#writers) {
      this.rig.x.stream_end(one.stream, 0);
      one.length = 0;
    }
  }

  broken(): string {
    return `${this.rig.broken()} ${this.#writers.map(({ stream }) => this.rig.x.stream_check(stream)).join(" ")}`;
  }
}

/** Returns, for each step number, how many rows of the pool contain that step. */
function heldBy(rig: Rig): Uint8Array {
  const { x, pool } = rig;
  const held = new Uint8Array(2 * OPERATIONS + 1);
  const record = x.record_row_bytes(pool);
  const at = x.arena_alloc(4 + 64 * record);
  rig.refresh();
  for (let number = 1; number !== 0; ) {
    number = x.record_rows(pool, number, 64, at);
    // The value follows number, link and episode.
    for (let i = 0; i < (rig.u32[at >> 2] as number); i++) (held[rig.u32[(at + 4 + i * record + 12) >> 2] as number] as number)++;
  }
  x.arena_free(at, 4 + 64 * record);
  return held;
}

function run(sampler: Selector, remover: Selector, seed: number): void {
  const random = new TestRandom(seed);
  const options: RigOptions = {
    ...plain(sampler, remover, 1000),
    keep: KEEP,
    seed,
    maxPending: 40,
    maxTimesSampled: seed % 2 === 0 ? 3 : 0,
    limiter: { samplesPerInsert: 0.5, minSize: 1, minDiff: -1e9, maxDiff: 100 },
  };
  const streams = new Streams(new Rig(options));
  const { rig } = streams;
  const items = new Items();
  const check = () => {
    items.sift((key) => rig.has(key));
    expect(items.count).toBe(rig.counter(0) + rig.counter(2));
    const wanted = new Uint8Array(2 * OPERATIONS + 1);
    for (let i = 0; i < items.count; i++) wanted.fill(1, items.first[i] as number, (items.first[i] as number) + (items.length[i] as number));
    streams.mark(wanted);
    expect(Buffer.compare(heldBy(rig), wanted)).toBe(0);
    expect(rig.x.pool_live(rig.pool)).toBe(wanted.reduce((sum, one) => sum + one, 0));
    expect(streams.broken()).toBe("0 0 0 0 0 0");
  };
  for (let i = 1; i <= OPERATIONS; i++) {
    const dice = random.below(1024);
    const k = dice & 1;
    if (dice < 400 || !streams.any(k)) streams.append(k);
    else if (dice < 960) streams.create(k, 1 + random.below(KEEP), dice & 7, items);
    else if (dice < 985) {
      rig.sample(1 + random.below(24));
      rig.settle();
    } else if (dice < 1000 && items.count > 0) rig.delete([items.keys[random.below(items.count)] as number]);
    else if (dice < 1010 && items.count > 0) rig.update([items.keys[random.below(items.count)] as number], [dice & 3]);
    else streams.end(k);
    if (items.full) items.sift((key) => rig.has(key));
    if (i % (OPERATIONS / CHECKS) === 0) check();
  }
  expect(rig.counter(3)).toBeGreaterThan(OPERATIONS / 10);
  // No step stays held permanently.
  streams.clear();
  for (let i = 0; i < 50 && rig.counter(2) > 0; i++) rig.x.table_clear(rig.table);
  rig.x.table_clear(rig.table);
  expect(rig.counter(0) + rig.counter(2)).toBe(0);
  expect(rig.x.pool_live(rig.pool)).toBe(0);
  expect(streams.broken()).toBe("0 0 0 0 0 0");
}

describe("after a million operations, exactly the reachable steps are stored", () => {
  for (const [i, remover] of [fifo(), lifo(), uniform(), prioritized(0.6), minHeap(), maxHeap()].entries()) {
    test(`with a ${remover.kind} remover`, () => run([uniform(), prioritized(1), fifo()][i % 3] as Selector, remover, i));
  }
});
