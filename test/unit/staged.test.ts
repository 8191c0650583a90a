import { expect, test } from "vitest";
import { bool, f32, i32, i64, Replay, shared, u8 } from "../../src/index.ts";
import { errorOf, expectError, expectRefused } from "../support/refused.ts";

const spec = { a: i32(), o: f32(3), deep: [{ flag: bool() }, i64()], image: u8(2000) } as const;
const tables = { t: { maxSize: 40 } };

/** Makes the core's memory grow, which detaches all arrays that refer to it. */
function grow(replay: Replay): void {
  const { used } = replay.stats().bytes;
  replay.writer({ keep: 1_000_000 });
  expect(replay.stats().bytes.used).toBeGreaterThan(used);
}

test("a step that is filled in place is appended like a passed step", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer();
  const { staged } = writer;
  for (let i = 0; i < 5; i++) {
    staged.a = i;
    staged.o[1] = 2 * i;
    staged.deep[0].flag = i % 2;
    staged.deep[1] = BigInt(i) << 40n;
    staged.image.fill(i);
    writer.append();
  }
  staged.o = new Float32Array([7, 8, 9]);
  writer.append();
  expect([staged.a, staged.deep[1], [...staged.o]]).toEqual([4, 4n << 40n, [7, 8, 9]]);
  writer.createItem("t", { length: 6 });
  const { steps } = replay.table("t").sample(1);
  expect([...steps.a.data]).toEqual([0, 1, 2, 3, 4, 4]);
  expect([...steps.o.data.subarray(12)]).toEqual([0, 8, 0, 7, 8, 9]);
  expect([...steps.deep[0].flag.data]).toEqual([0, 1, 0, 1, 0, 0]);
  expect(steps.deep[1].data[3]).toBe(3n << 40n);
  expect([0, 1, 2, 3, 4, 5].map((i) => steps.image.data[2000 * i])).toEqual([0, 1, 2, 3, 4, 4]);
});

test("a spec with a single leaf has the name value, and its structure cannot be changed", () => {
  const replay = new Replay({ spec: f32(), tables });
  const writer = replay.writer();
  writer.staged.value = 2.5;
  writer.append();
  writer.createItem("t", { length: 1 });
  expect(replay.table("t").sample(1).steps.data[0]).toBe(2.5);
  expect(Object.isExtensible(writer.staged)).toBe(false);
});

test("memory growth keeps numbers and new arrays usable, and append rejects old arrays", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer();
  const { staged } = writer;
  staged.a = 5;
  const kept = staged.o;
  kept.set([1, 2, 3]);
  writer.append();
  grow(replay as unknown as Replay);
  expect(kept.length).toBe(0);
  expectRefused(replay, () => writer.append(), "OUT_OF_TURN", /staged\.o is out of date because memory has grown/);
  // The written values still exist, and can be read and overwritten.
  expect([...staged.o]).toEqual([1, 2, 3]);
  staged.o[0] = 4;
  staged.a++;
  writer.append();
  writer.createItem("t", { length: 2 });
  const { steps } = replay.table("t").sample(1);
  expect([...steps.a.data]).toEqual([5, 6]);
  expect([...steps.o.data]).toEqual([1, 2, 3, 4, 2, 3]);
  grow(replay as unknown as Replay);
  // If a step is passed, the staged values are ignored.
  writer.append({ a: 1, o: [1, 2, 3], deep: [{ flag: true }, 1n], image: new Uint8Array(2000) });
});

test("staged leaves reject values that do not fit", () => {
  const replay = new Replay({ spec, tables });
  const { staged } = replay.writer();
  const set = (value: unknown) => () => {
    staged.o = value as Float32Array;
  };
  expectRefused(replay, set([1, 2]), "SPEC_MISMATCH", /^o must be f32 of shape \[3\]/, /an array of 2/);
  expectRefused(replay, set(1), "SPEC_MISMATCH", /^o must/, /got 1/);
  expectRefused(replay, set(["a", 2, 3]), "SPEC_MISMATCH", /^o must/, /"a"/);
  expectError(
    errorOf(() => {
      staged.image = new Array(2000).fill(256) as never;
    }),
    "INVALID_DATA",
    /^image must be u8, an integer in 0 … 255, got 256/,
  );
});

test("lanes are staged as arrays, in the order of lanes", () => {
  const replay = new Replay({ spec: { x: i32(), o: f32(2), f: shared("f", u8(4)) }, tables });
  const writer = replay.writer({ lanes: 3, items: [{ table: "t", length: 1 }] });
  const staged = writer.staged as unknown as { x: Int32Array; o: Float32Array; f: Uint8Array };
  expect([staged.x.length, staged.o.length, staged.f.length]).toEqual([3, 6, 12]);
  staged.x.set([1, 2, 3]);
  staged.o.set([1, 1, 2, 2, 3, 3]);
  staged.f.set([0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 9]);
  writer.append();
  const { steps } = replay.table("t").sample(3, { replacement: false });
  const byLane = [...steps.x.data].map((x, i) => [x, ...steps.o.data.subarray(2 * i, 2 * i + 2), ...steps.f.data.subarray(4 * i, 4 * i + 4)]).sort();
  expect(byLane).toEqual([
    [1, 1, 1, 0, 0, 0, 0],
    [2, 2, 2, 1, 1, 1, 1],
    [3, 3, 3, 0, 0, 0, 9],
  ]);
  grow(replay as unknown as Replay);
  expectRefused(replay, () => writer.append(), "OUT_OF_TURN", /staged\.[fox] is out of date/);
});
