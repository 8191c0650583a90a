/** Compares Python buffers with lists of items, based on TF-Agents' documents, with the same random calls on both. */
import { describe, expect, it } from "vitest";
import { type Column, f32, i32, u8 } from "../../../src/index.ts";
import { PyHashedReplayBuffer, PyUniformReplayBuffer, trajectorySpec } from "../../../src/tf-agents/index.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

/** Stores the last items in chronological order. */
class Listed<T> {
  items: T[] = [];
  added = 0;
  readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  add(batch: readonly T[]): void {
    this.items = [...this.items, ...batch].slice(-this.capacity);
    this.added += batch.length;
  }

  clear(): void {
    this.items = [];
    this.added = 0;
  }

  /** Returns the items by slot: item i since the beginning is in slot i modulo the capacity. */
  places(): T[] {
    const first = this.added - this.items.length;
    return this.items
      .map((item, i) => [(first + i) % this.capacity, item] as const)
      .sort(([a], [b]) => a - b)
      .map(([, item]) => item);
  }

  windows(steps: number): string[] {
    return this.items.flatMap((_, i) => (i + steps <= this.items.length ? [JSON.stringify(this.items.slice(i, i + steps))] : []));
  }
}

const DRAWS = 200;

describe("random sequences of calls equal a naive list", () => {
  it.each(Array.from({ length: scaled(100) }, (_, seed) => seed))("seed %i: PyUniformReplayBuffer", (seed) => {
    const random = new TestRandom(seed + 1);
    const capacity = 1 + random.below(5);
    const buffer = new PyUniformReplayBuffer({ x: f32(), n: i32(2) }, { capacity, seed });
    const list = new Listed<number>(capacity);
    const xs = (items: { readonly x: Column }) => [...items.x.data];
    let next = 0;
    for (let call = 0; call < 12; call++) {
      const kind = random.below(8);
      if (kind < 4) {
        const batch = Array.from({ length: 1 + random.below(random.below(3) === 0 ? 7 : 1) }, () => next++);
        buffer.addBatch({ x: Float32Array.from(batch), n: batch.map((x) => [x, -x]) });
        list.add(batch);
      } else if (kind === 4 && random.below(3) === 0) {
        buffer.clear();
        list.clear();
      } else if (list.items.length > 0) {
        const numSteps = 1 + random.below(list.items.length);
        const seen = new Set(Array.from({ length: DRAWS }, () => JSON.stringify(xs(buffer.getNext({ numSteps })))));
        expect([...seen].sort()).toEqual(list.windows(numSteps).sort());
        const [one] = buffer.asDataset({ numSteps, sampleBatchSize: 3 });
        expect(one?.n.shape).toEqual([3, numSteps, 2]);
      } else expect(errorOf(() => buffer.getNext({ numSteps: 2 }))).toMatchObject({ code: "EMPTY" });
      expect([buffer.size, buffer.numFrames()]).toEqual([list.items.length, list.items.length]);
      const all = buffer.gatherAll();
      expect(all.x.toArray()).toEqual([list.places()]);
      expect(all.n.toArray()).toEqual([list.places().map((x) => [x, x === 0 ? -0 : -x].map((n) => n + 0))]);
      expect(list.items.length === 0 ? [] : [...buffer.asDataset({ singleDeterministicPass: true })].map(({ x }) => x.data[0])).toEqual(list.items);
    }
  });

  it.each(Array.from({ length: scaled(100) }, (_, seed) => seed))("seed %i: PyHashedReplayBuffer", (seed) => {
    const random = new TestRandom(seed + 1000);
    const capacity = 1 + random.below(5);
    const stack = 1 + random.below(3);
    const pixels = 1 + random.below(7);
    const spec = trajectorySpec({ observation: u8(pixels, stack), action: i32() });
    const buffer = new PyHashedReplayBuffer(spec, { capacity, seed });
    const list = new Listed<number[]>(capacity);
    // A frame with one of a few kinds. Its pixels encode the kind and the age.
    const pixel = (kind: number, p: number) => kind * 20 + p;
    const flat = (frames: readonly number[]) => Array.from({ length: pixels }, (_, p) => frames.map((kind) => pixel(kind, p)));
    for (let call = 0; call < 14; call++) {
      const kind = random.below(8);
      if (kind < 5) {
        const batch = Array.from({ length: 1 + random.below(random.below(4) === 0 ? 6 : 1) }, () => Array.from({ length: stack }, () => random.below(4)));
        const ones = batch.map(() => 1);
        buffer.addBatch({
          stepType: ones,
          observation: batch.map(flat),
          action: ones,
          policyInfo: [],
          nextStepType: ones,
          reward: ones,
          discount: ones,
        } as never);
        list.add(batch);
      } else if (kind === 5 && random.below(3) === 0) {
        buffer.clear();
        list.clear();
      } else if (list.items.length > 0) {
        const numSteps = 1 + random.below(list.items.length);
        const windows = new Set(list.windows(numSteps).map((one) => JSON.stringify((JSON.parse(one) as number[][]).map(flat))));
        for (let i = 0; i < 20; i++) expect(windows).toContain(JSON.stringify((buffer.getNext({ numSteps }).observation as Column).toArray()));
      }
      expect(buffer.distinctFrames).toBe(new Set(list.items.flat()).size);
      expect((buffer.gatherAll().observation as Column).toArray()).toEqual([list.places().map(flat)]);
    }
  });
});
