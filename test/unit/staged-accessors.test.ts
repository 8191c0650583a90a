import { expect, test } from "vitest";
import { bool, f32, f64, i32, Replay, u8 } from "../../src/index.ts";
import { errorOf, expectError } from "../support/refused.ts";

const spec = { a: f32(), pair: [i32(), f64(2)], deep: { flag: bool(), pixels: u8(3) } } as const;
const tables = { t: { maxSize: 500_000 }, newest: { maxSize: 1 } };

function made() {
  const replay = new Replay({ spec, tables });
  return { replay, writer: replay.writer({ items: [{ table: "t", length: 1 }] }) };
}

/** Appends steps until memory grows, which detaches the arrays that refer to it. */
function grow({ replay, writer }: ReturnType<typeof made>): void {
  const witness = replay.writer().staged.deep.pixels;
  void writer.staged; // append() without a step appends the staged one
  for (let i = 0; witness.length > 0 && i < tables.t.maxSize; i++) writer.append();
  expect(witness.length).toBe(0);
}

test("assigned values are appended in every dtype and at every depth", () => {
  const { replay, writer } = made();
  const { staged } = writer;
  staged.a = 0.5;
  staged.pair[0] = -7;
  staged.pair[1].set([1.25, 2.5]);
  staged.deep.flag = 1;
  staged.deep.pixels = new Uint8Array([3, 4, 5]);
  expect([staged.a, staged.pair[0], staged.deep.flag]).toEqual([0.5, -7, 1]);
  writer.append();
  const { steps } = replay.table("t").sample(1);
  expect([...steps.a.data, ...steps.pair[0].data, ...steps.pair[1].data]).toEqual([0.5, -7, 1.25, 2.5]);
  expect([...steps.deep.flag.data, ...steps.deep.pixels.data]).toEqual([1, 3, 4, 5]);
});

test("a spec with a single leaf is staged as value", () => {
  const replay = new Replay({ spec: f32(), tables });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.staged.value = 4;
  writer.append();
  expect([...replay.table("t").sample(1).steps.data]).toEqual([4]);
});

test("writers of one Replay stage separately, and their steps have the same keys", () => {
  const { replay, writer } = made();
  const others = [replay.writer(), replay.writer()];
  [writer, ...others].forEach(({ staged }, i) => {
    staged.a = i;
    staged.pair[0] = 10 * i;
  });
  expect([writer, ...others].map(({ staged }) => [staged.a, staged.pair[0]])).toEqual([
    [0, 0],
    [1, 10],
    [2, 20],
  ]);
  for (const { staged } of others)
    expect([Object.keys(staged), Object.keys(staged.deep)]).toEqual([
      ["a", "deep", "pair"],
      ["flag", "pixels"],
    ]);
});

test("with several lanes, every leaf is an array", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ lanes: 2, items: [{ table: "t", length: 1 }] });
  (writer.staged.a as unknown as Float32Array).set([1, 2]);
  (writer.staged.deep.flag as unknown as Uint8Array).set([0, 1]);
  writer.append();
  const { steps } = replay.table("t").sample(2, { replacement: false });
  expect([...steps.a.data].sort()).toEqual([1, 2]);
});

test("staged numbers survive memory growth", () => {
  const all = made();
  const other = all.replay.writer();
  const { staged } = other;
  staged.a = 0.25;
  staged.pair[0] = 9;
  staged.deep.flag = 1;
  grow(all);
  expect([staged.a, staged.pair[0], staged.deep.flag]).toEqual([0.25, 9, 1]);
  staged.a = 0.75;
  other.append();
  other.createItem("newest", { length: 1 });
  expect([...all.replay.table("newest").sample(1).steps.a.data]).toEqual([0.75]);
});

test("append throws OUT_OF_TURN after memory growth until a kept array is read again", () => {
  const all = made();
  const other = all.replay.writer();
  expect(other.staged.pair[1].length).toBe(2);
  grow(all);
  expectError(
    errorOf(() => other.append()),
    "OUT_OF_TURN",
    /staged\.pair\.1 is out of date because memory has grown/,
  );
  expect(other.length).toBe(0);
  other.staged.pair[1].set([1, 2]);
  other.append();
  expect(other.length).toBe(1);
});

test("the staged step of a closed writer throws CLOSED", () => {
  const { writer } = made();
  const { staged } = writer;
  writer.close();
  const calls = {
    "f32 read": () => staged.a,
    "f32 assigned": () => {
      staged.a = 1;
    },
    "i32 read": () => staged.pair[0],
    "bool assigned": () => {
      staged.deep.flag = 1;
    },
    "array read": () => staged.deep.pixels,
    "array assigned": () => {
      staged.deep.pixels = new Uint8Array(3);
    },
  };
  for (const call of Object.values(calls)) expectError(errorOf(call), "CLOSED", /closed/);
});
