/** Tests that batches are equal whether values are copied directly or through scratch memory, which depends on size and adjacency. */
import { expect, test } from "vitest";
import { type Batch, f64, Replay, type Spec, u8, uniform } from "../../../src/index.ts";
import { TestRandom } from "../../support/random.ts";

type Leaves = readonly (readonly [name: string, size: number])[];

/** Specs with many leaves that are copied directly only in windows of at least four steps, and with leaves of all sizes. */
const SPECS: { readonly [name: string]: readonly [longest: number, leaves: Leaves] } = {
  "twelve leaves of 256 bytes": [4, Array.from({ length: 12 }, (_, i) => [`u${i}`, 256] as const)],
  "leaves of many sizes": [6, [8, 255, 256, 256, 256, 300, 600, 1023, 1024, 2100].map((size, i) => [`u${i}`, size] as const)],
};

/** Creates short items from writers that take turns, so that only some rows are adjacent. The bytes of a step contain its number. */
function filled(leaves: Leaves, longest: number, writers: number): Replay {
  const spec: Spec = { number: f64(), ...Object.fromEntries(leaves.map(([name, size]) => [name, u8(size)])) };
  const replay = new Replay({ spec, tables: { t: { maxSize: 60, sampler: uniform() } }, seed: writers });
  const random = new TestRandom(writers);
  const all = Array.from({ length: writers }, () => replay.writer({ keep: longest }));
  let number = 0;
  for (let round = 0; round < 40; round++) {
    for (const writer of all) {
      number++;
      writer.append({ number, ...Object.fromEntries(leaves.map(([name, size], i) => [name, new Uint8Array(size).fill(number + i)])) });
      const length = random.below(20) === 0 ? longest : 1 + random.below(longest - 1);
      writer.createItem("t", { length: Math.min(writer.length, length), priority: 1 });
    }
  }
  return replay as Replay;
}

for (const [name, [longest, leaves]] of Object.entries(SPECS)) {
  test.each([1, 3])(`windows of ${name} contain the right steps, from %i writers`, (writers) => {
    const table = filled(leaves, longest, writers).table("t");
    const random = new TestRandom(writers);
    for (let i = 0; i < 60; i++) {
      const n = 1 + random.below(5);
      const length = random.below(2) === 0 ? undefined : 1 + random.below(longest);
      const into = length === undefined ? undefined : table.batch(n, { length });
      const given = random.below(3);
      const options = given === 0 && into !== undefined ? { into } : given === 1 ? { recycle: true } : {};
      const batch = table.sample(n, { ...options, ...(length !== undefined && { length }) }) as Batch;
      const numbers = batch.steps.number;
      const width = numbers.shape[1] as number;
      expect([...batch.info.probabilities, ...batch.info.priorities]).toEqual([...new Array(n).fill(1 / table.size), ...new Array(n).fill(1)]);
      for (let k = 0; k < n; k++) {
        const own = Array.from({ length: width }, (_, t) => numbers.data[k * width + t] as number);
        const steps = batch.lengths[k] as number;
        expect(own.slice(steps).every((number) => number === 0)).toBe(true);
        for (let t = 1; t < steps; t++) expect((own[t] as number) - (own[t - 1] as number)).toBe(writers);
        for (const [j, [leaf, size]] of leaves.entries()) {
          const { data } = batch.steps[leaf];
          for (let t = 0; t < width; t++) {
            const expected = t < steps ? ((own[t] as number) + j) & 255 : 0;
            const at = (k * width + t) * size;
            expect(data.subarray(at, at + size).every((byte: number) => byte === expected)).toBe(true);
          }
        }
      }
      if (given === 1) batch.release();
    }
  });
}
