/** Compares columns that list their steps with a twin that picks them from plain arrays. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { i32, Replay, shared, u8 } from "../../src/index.ts";
import { scaled } from "../support/size.ts";

const WIDE = 1100;
const spec = { x: i32(), wide: u8(WIDE), frame: shared("f", u8(3)) };

const index = fc.integer({ min: -7, max: 6 });
const span = fc.record({ from: fc.integer({ min: -7, max: 6 }), to: fc.integer({ min: -6, max: 7 }), step: fc.integer({ min: 1, max: 3 }) });
const column = fc.oneof(
  index.map((at) => ({ at })),
  span,
  fc.array(index, { minLength: 1, maxLength: 8 }).map((steps) => ({ steps })),
);
type Column = { readonly at?: number; readonly from?: number; readonly to?: number; readonly step?: number; readonly steps?: readonly number[] };

/** Returns the same column, limited to steps in a window of `width`. */
function inside(column: Column, width: number): Column {
  const near = (step: number) => (step < 0 ? -1 - ((-1 - step) % width) : step % width);
  return { ...column, ...(column.at !== undefined && { at: near(column.at) }), ...(column.steps && { steps: column.steps.map(near) }) };
}

/** Returns the steps of a column in a window of `width`. Slices work as in Python; listed steps are used unchanged. */
function named({ at, from = 0, to, step = 1, steps }: Column, width: number): readonly number[] {
  if (steps !== undefined) return steps;
  if (at !== undefined) return [at];
  const first = from < 0 ? from + width : from;
  const end = to === undefined ? width : to < 0 ? to + width : Math.min(to, width);
  const all = [];
  for (let t = first; t < end; t += step) all.push(from < 0 ? t - width : t);
  return all;
}

test("listed columns return the listed steps of each item, and zeros for missing steps", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 }),
      fc.array(fc.tuple(fc.constantFrom("x", "wide", "frame"), column), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 7 }),
      (lengths, drawn, width) => {
        const columns = drawn.map(([leaf, how]) => [leaf, inside(how, Math.min(width, Math.max(...lengths)))] as const);
        const replay = new Replay({ spec, tables: { t: { maxSize: 9 } } });
        const writer = replay.writer({ keep: 9 });
        const items = lengths.map((length, e) => {
          const values = Array.from({ length }, (_, s) => 10 * e + s + 1);
          for (const x of values) writer.append({ x, wide: new Uint8Array(WIDE).fill(x), frame: new Uint8Array(3).fill(x) });
          writer.createItem("t", { length });
          writer.endEpisode();
          return values.slice(0, width);
        });
        const asked = Object.fromEntries(columns.map(([leaf, how], i) => [`c${i}`, { leaf, ...how }]));
        const table = replay.table("t");
        const sample = { length: width, columns: asked, replacement: false };
        const into = table.batch(lengths.length, sample as never);
        for (const options of [sample, { ...sample, into }, { ...sample, into }]) {
          const { steps } = table.sample(lengths.length, options as never) as unknown as {
            steps: { [name: string]: { data: ArrayLike<number>; shape: number[] } };
          };
          columns.forEach(([leaf, how], i) => {
            const { data, shape } = steps[`c${i}`] as { data: ArrayLike<number>; shape: number[] };
            const each = leaf === "x" ? 1 : leaf === "wide" ? WIDE : 3;
            const want = [...items].flatMap((values) => named(how, width).map((at) => values.at(at < 0 || at < values.length ? at : 99) ?? 0));
            expect(shape.slice(0, 2)).toEqual("at" in how ? [lengths.length, ...(each === 1 ? [] : [each])] : [lengths.length, named(how, width).length]);
            // Fifo would keep their order. Draws without replacement may return them in any order.
            const got = want.map((_, k) => data[k * each] as number);
            const per = want.length / lengths.length;
            const rows = (all: number[]) => Array.from(lengths, (_, r) => String(all.slice(r * per, (r + 1) * per))).sort();
            expect(rows(got)).toEqual(rows(want));
            expect([...Array.from(data)].every((value, k) => value === got[Math.floor(k / each)])).toBe(true);
          });
        }
        replay.dispose();
      },
    ),
    { numRuns: scaled(150), seed: 5 },
  );
});

test("listed columns of items accept steps in any order and more than once", () => {
  const replay = new Replay({ spec: { x: i32() }, tables: { t: { maxSize: 9 } } });
  const writer = replay.writer();
  for (let x = 0; x < 5; x++) writer.append({ x });
  writer.createItem("t", { length: 5, columns: { some: { leaf: "x", steps: [2, 0, 2, -1] }, two: { leaf: "x", from: -2 } } });
  const { steps } = replay.table("t").sample(1) as unknown as { steps: { some: { data: Int32Array; shape: number[] }; two: { data: Int32Array } } };
  expect([...steps.some.data]).toEqual([2, 0, 2, 4]);
  expect(steps.some.shape).toEqual([1, 4]);
  expect([...steps.two.data]).toEqual([3, 4]);
});
