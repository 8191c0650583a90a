/** Tests that stored values are returned unchanged: nesting, dtypes, lengths. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Column, fifo, flatten, lifo, pack, Replay, type Spec } from "../../src/index.ts";
import { blank } from "../../src/schema/leaf.ts";
import { leavesOf } from "../../src/schema/spec.ts";
import { expectAlike } from "../support/alike.ts";
import { given, type LeafValue, spec, stepsOf } from "../support/arbitrary-spec.ts";
import { broken } from "../support/health.ts";
import { scaled } from "../support/size.ts";

const RUNS = { seed: 20, numRuns: scaled(200, 3) };

/** Generates a spec with matching steps. */
const recorded = (min: number, max: number) => spec.chain((of) => fc.record({ of: fc.constant(of), steps: stepsOf(of, min, max) }));

function stepOf(of: Spec, values: readonly LeafValue[]): never {
  const leaves = leavesOf(of);
  return pack(
    of,
    values.map((value, i) => given((leaves[i] as (typeof leaves)[number]).leaf.dtype, (leaves[i] as (typeof leaves)[number]).shape, value)),
  ) as never;
}

/** Returns the column of a leaf's values. Each item is padded with zeros to `width` steps. */
function columnOf(of: Spec, i: number, items: readonly (readonly LeafValue[][])[], width: number): Column {
  const { leaf, size, shape } = leavesOf(of)[i] as ReturnType<typeof leavesOf>[number];
  const data: { [i: number]: unknown } = blank(leaf, items.length * width * size);
  for (const [n, item] of items.entries()) {
    for (const [t, step] of item.entries()) {
      (step[i] as LeafValue).elements.forEach((one, k) => {
        data[(n * width + t) * size + k] = one;
      });
    }
  }
  return { data, shape: [items.length, width, ...shape] } as unknown as Column;
}

describe("flatten and pack", () => {
  test("are inverse to each other, and order leaves by sorted keys", () => {
    fc.assert(
      fc.property(spec, (of) => {
        const leaves = leavesOf(of);
        const values = leaves.map(({ path }) => ({ path }));
        expect(flatten(of, pack(of, values))).toEqual(values);
        const nested = pack(of, values);
        for (const { keys, path } of leaves) expect(keys.reduce((node, key) => (node as { [key: string]: unknown })[key], nested)).toEqual({ path });
        expect(pack(of, flatten(of, nested))).toEqual(nested);
        for (const [a, b] of leaves.slice(1).map((one, i) => [leaves[i] as typeof one, one] as const)) {
          const at = a.keys.findIndex((key, i) => key !== b.keys[i]);
          const [x, y] = [a.keys[at] as string, b.keys[at] as string];
          const node = a.keys.slice(0, at).reduce((inner, key) => (inner as unknown as { [key: string]: Spec })[key] as Spec, of);
          expect(Array.isArray(node) ? Number(x) < Number(y) : x < y).toBe(true);
        }
      }),
      RUNS,
    );
  });
});

describe("whole items", () => {
  test("return the appended values for all dtypes and forms, appended singly or as columns", () => {
    fc.assert(
      fc.property(recorded(1, 6), fc.boolean(), ({ of, steps }, block) => {
        const replay = new Replay({ spec: of, tables: { t: { maxSize: 3, sampler: lifo() } } });
        const writer = replay.writer({ keep: steps.length });
        if (block) {
          const columns = leavesOf(of).map((_, i) => columnOf(of, i, [steps], steps.length).data);
          writer.appendColumns(pack(of, columns) as never);
        } else for (const values of steps) writer.append(stepOf(of, values));
        writer.createItem("t", { length: steps.length });
        const batch = replay.table("t").sample(1, { mask: true });
        expectAlike(
          flatten(of, batch.steps),
          leavesOf(of).map((_, i) => columnOf(of, i, [steps], steps.length)),
        );
        expect(batch.lengths).toEqual(Uint32Array.of(steps.length));
        expect(batch.mask).toEqual(new Uint8Array(steps.length).fill(1));
        expect(broken(replay)).toEqual([]);
      }),
      RUNS,
    );
  });

  test("have padding of zeros and a mask if lengths differ, in new and in reused batches", () => {
    fc.assert(
      fc.property(
        recorded(3, 9),
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 7 }),
        fc.integer({ min: 0, max: 2 }),
        ({ of, steps }, lengths, more) => {
          const replay = new Replay({ spec: of, tables: { t: { maxSize: 8, sampler: fifo() } } });
          const writer = replay.writer({ keep: 3 });
          const items: LeafValue[][][] = [];
          for (const [t, values] of steps.entries()) {
            writer.append(stepOf(of, values));
            const length = Math.min(lengths[t % lengths.length] as number, t + 1);
            if (items.length === 8) break;
            writer.createItem("t", { length });
            items.push(steps.slice(t + 1 - length, t + 1));
          }
          const longest = Math.max(...items.map((item) => item.length));
          const into = replay.table("t").batch(items.length + more, { length: longest, mask: true });
          for (const options of [{}, { length: longest + more }, { into }]) {
            const width = Math.max(options.length ?? 0, longest);
            const n = options.into === undefined ? items.length : items.length + more;
            const batch = replay.table("t").sample(n, { replacement: false, mask: true, ...options });
            expect(batch.count).toBe(items.length);
            const columns = flatten(of, batch.steps) as Column[];
            for (const [i, { size }] of leavesOf(of).entries()) {
              const wanted = columnOf(of, i, items, width);
              expectAlike((columns[i] as Column).data.slice(0, items.length * width * size), wanted.data);
              expect((columns[i] as Column).shape.slice(1)).toEqual(wanted.shape.slice(1));
            }
            expect([...batch.lengths].slice(0, items.length)).toEqual(items.map((item) => item.length));
            const mask = items.flatMap((item) => Array.from({ length: width }, (_, t) => (t < item.length ? 1 : 0)));
            expect([...(batch.mask as Uint8Array)].slice(0, mask.length)).toEqual(mask);
          }
        },
      ),
      RUNS,
    );
  });
});
