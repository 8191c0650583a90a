/** Compares two Replays with the same seed: one returns new arrays for every sample, the other refills batches. Their contents must be equal. */
import { expect, test } from "vitest";
import { type Batch, f32, i32, prioritized, Replay, type SampleOptions, u8, uniform } from "../../src/index.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";

type Columns = { readonly [name: string]: { leaf: "n" | "v" | "w"; at?: number; from?: number; to?: number; step?: number } };

const N_STEP = { n: 3, gamma: 0.5, reward: "n" } as const;

function replayOf(seed: number) {
  const tables = { t: { maxSize: 20, sampler: seed % 2 === 0 ? uniform() : prioritized(0.7) } };
  return new Replay({ spec: { n: i32(), v: f32(3), w: u8(1100) }, tables, seed });
}

/** Returns columns of a window of `width` steps. */
function columnsOf(random: TestRandom, width: number): Columns {
  return Object.fromEntries(
    Array.from({ length: 1 + random.below(3) }, (_, i) => {
      const leaf = random.pick(["n", "v", "w"] as const);
      const place = () => random.below(17) - 8;
      if (random.below(3) === 0) return [`c${i}`, { leaf, at: random.below(2 * width) - width }];
      return [`c${i}`, { leaf, from: place(), ...(random.below(2) === 0 ? { to: place() } : {}), step: 1 + random.below(3) }];
    }),
  );
}

/** Returns the meaningful contents of a batch. */
function shownOf(batch: Batch<unknown>): unknown {
  const { count, steps, lengths, info, nStep, mask, blocked } = batch;
  // Long arrays are hashed, because comparing their elements would take most of the test's time.
  const part = (array: Float32Array | undefined, each = 1) =>
    array &&
    (count * each < 64 ? [...array.subarray(0, count * each)] : array.subarray(0, count * each).reduce((hash, x) => (Math.imul(hash, 31) + 4 * x) | 0, each));
  const parts = (arrays: object | undefined) =>
    arrays && Object.entries(arrays as { [name: string]: Float32Array }).map(([name, array]) => [name, part(array)]);
  const columns = Object.entries(steps as { [name: string]: { data: Float32Array; shape: readonly number[] } });
  const data = columns.map(([name, { data, shape }]) => [
    name,
    shape.slice(1),
    part(
      data,
      shape.slice(1).reduce((a, b) => a * b, 1),
    ),
  ]);
  return {
    count,
    data,
    lengths: part(lengths as never),
    info: parts(info),
    nStep: parts(nStep),
    mask: mask && part(mask as never, mask.length / lengths.length || 0),
    blocked,
  };
}

test("a reused batch has the same contents as a new batch", () => {
  for (let seed = 1; seed <= scaled(12, 1); seed++) {
    const random = new TestRandom(seed);
    const replays = [replayOf(seed), replayOf(seed)] as const;
    const writers = replays.map((replay) => replay.writer({ keep: 9 }));
    const sets = Array.from({ length: 9 }, (_, i) => [columnsOf(random, i + 1), columnsOf(random, i + 1)]);
    const batches = new Map<string, Batch<unknown>>();
    let n = 0;
    // A window is at most as long as the longest item.
    for (const writer of writers) {
      for (let k = 0; k < 9; k++) writer.append({ n: k, v: [k, k, k], w: new Uint8Array(1100) });
      writer.createItem("t", { length: 9 });
    }
    for (let op = 0; op < 300; op++) {
      const length = 1 + random.below(9);
      const steps = random.below(3);
      const item = random.below(3) !== 0;
      const priority = random.next() * 5;
      const value = Array.from({ length: steps }, () => n++);
      for (const writer of writers) {
        for (const k of value) writer.append({ n: k, v: [k, k + 0.25, k + 0.5], w: new Uint8Array(1100).fill(k) });
        if (item && writer.length >= length) writer.createItem("t", { length, priority });
      }
      const width = 1 + random.below(9);
      const options: SampleOptions<"n", never> = {
        length: width,
        ...(random.below(4) === 0 ? {} : { columns: random.pick(sets[width - 1] as Columns[]) as never }),
        ...(random.below(3) === 0 ? { beta: 0.5 } : {}),
        ...(width > 1 && random.below(3) === 0 ? { nStep: N_STEP } : {}),
        ...(random.below(3) === 0 ? { mask: true } : {}),
        ...(random.below(4) === 0 ? { replacement: false } : {}),
        ...(random.below(4) === 0 ? { offset: random.pick(["end", "uniform"] as const) } : {}),
      };
      const count = 1 + random.below(24);
      const [fresh, again] = replays.map((replay) => replay.table("t")) as unknown as [Both, Both];
      const key = JSON.stringify([count, { ...options, replacement: true, offset: "" }]);
      const into = batches.get(key) ?? again.batch(count, options);
      batches.set(key, into);
      expect(shownOf(again.sample(count, { ...options, into })), `seed ${seed}, op ${op}`).toEqual(shownOf(fresh.sample(count, options)));
    }
    for (const replay of replays) expect(broken(replay)).toEqual([]);
  }
});

type Sample = (n: number, options: object) => Batch<unknown>;
interface Both {
  sample: Sample;
  batch: Sample;
}
