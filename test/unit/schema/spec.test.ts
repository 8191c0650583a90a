import { expect, test } from "vitest";
import { bf16, bool, type Dtype, f16, f32, f64, flatten, i8, i16, i32, i64, pack, Replay, type Spec, shared, u8, u16, u32, u64 } from "../../../src/index.ts";
import { DTYPES } from "../../../src/schema/dtype.ts";
import { errorOf, expectError, expectRefused } from "../../support/refused.ts";

const tables = { t: { maxSize: 4 } };

/** Appends a step, makes an item of it, and reads the step back. */
function roundTrip(spec: Spec, step: unknown): unknown {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer();
  writer.append(step);
  writer.createItem("t", { length: 1 });
  return replay.table("t").sample(1).steps;
}

test("nested objects, arrays, tuples and single leaves keep their structure", () => {
  const spec = { obs: { image: u8(2, 2), parts: [f32(2), { deep: i32() }] }, reward: f64() } as const;
  const steps = roundTrip(spec, { obs: { image: [1, 2, 3, 4], parts: [[5, 6], { deep: 7 }] }, reward: 8 });
  expect(steps).toEqual({
    obs: {
      image: { data: new Uint8Array([1, 2, 3, 4]), shape: [1, 1, 2, 2] },
      parts: [{ data: new Float32Array([5, 6]), shape: [1, 1, 2] }, { deep: { data: new Int32Array([7]), shape: [1, 1] } }],
    },
    reward: { data: new Float64Array([8]), shape: [1, 1] },
  });
  expect(roundTrip(f32(), 3)).toEqual({ data: new Float32Array([3]), shape: [1, 1] });
  expect(roundTrip([i8(), i8()], [1, -2])).toEqual([
    { data: new Int8Array([1]), shape: [1, 1] },
    { data: new Int8Array([-2]), shape: [1, 1] },
  ]);
});

test("more than eight keys keep their values in any order", () => {
  const names = [..."jcafkbhdgie"];
  const spec = Object.fromEntries(names.map((name) => [name, i32()]));
  const step = Object.fromEntries(names.map((name, i) => [name, 10 * i]));
  const steps = roundTrip(spec, step) as { [name: string]: { data: Int32Array } };
  for (const [i, name] of names.entries()) expect(steps[name]?.data[0]).toBe(10 * i);
});

const LEAVES = { bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, f16, bf16 };
const BOUNDS: { readonly [D in Dtype]: readonly [min: number | bigint, max: number | bigint] } = {
  bool: [0, 1],
  i8: [-128, 127],
  u8: [0, 255],
  i16: [-32768, 32767],
  u16: [0, 65535],
  i32: [-2147483648, 2147483647],
  u32: [0, 4294967295],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  f32: [-3.4028234663852886e38, 3.4028234663852886e38],
  f64: [-Number.MAX_VALUE, Number.MAX_VALUE],
  f16: [-65504, 65504],
  bf16: [-3.3895313892515355e38, 3.3895313892515355e38],
};

test.each(Object.entries(BOUNDS))("%s stores its bounds, as a number, in an array and in a typed array", (name, [min, max]) => {
  const leaf = LEAVES[name as Dtype];
  for (const value of [min, max]) {
    const { data } = roundTrip(leaf(), value) as { data: Float64Array };
    expect(data[0]).toBe(value);
    expect([...(roundTrip(leaf(2), [value, value]) as { data: Float64Array }).data]).toEqual([value, value]);
    expect((roundTrip(leaf(1), data) as { data: Float64Array }).data).toEqual(data);
    // This leaf is longer than the limit for copying in a loop.
    const many = new (data.constructor as Float64ArrayConstructor)(40).fill(value as number);
    expect((roundTrip(leaf(40), many) as { data: Float64Array }).data).toEqual(many);
  }
});

test.each(Object.entries(BOUNDS).filter(([name]) => !DTYPES[name as Dtype].float))("%s rejects values that it cannot hold", (name, [min, max]) => {
  const leaf = LEAVES[name as Dtype];
  const replay = new Replay({ spec: { x: leaf(), y: leaf(2) } as Spec, tables });
  const writer = replay.writer();
  const one = typeof min === "bigint" ? 1n : 1;
  const zero = typeof min === "bigint" ? 0n : 0;
  const below = (min as number) - (one as number);
  const above = (max as number) + (one as number);
  for (const bad of [below, above]) {
    expectRefused(replay, () => writer.append({ x: bad, y: [zero, zero] }), "INVALID_DATA", /^x must be/, new RegExp(name), new RegExp(`got ${bad}`));
    expectRefused(replay, () => writer.append({ x: zero, y: [zero, bad] }), "INVALID_DATA", /^y must be/, new RegExp(`got ${bad}`));
    expectRefused(replay, () => writer.appendColumns({ x: [zero, bad], y: [zero, zero, zero, zero] }), "INVALID_DATA", /^x must be/, new RegExp(`got ${bad}`));
  }
  const fraction = () => writer.append({ x: 0.5, y: [zero, zero] });
  if (typeof min === "bigint") expectRefused(replay, fraction, "SPEC_MISMATCH", /^x must be/, /got 0\.5/);
  else
    for (const bad of [0.5, Number.NaN, Number.POSITIVE_INFINITY])
      expectRefused(replay, () => writer.append({ x: bad, y: [zero, zero] }), "INVALID_DATA", /^x must be/);
});

test("64-bit leaves accept bigints and safe integers, floats accept NaN and infinities, bool accepts booleans", () => {
  expect((roundTrip(i64(), 5) as { data: BigInt64Array }).data[0]).toBe(5n);
  expect((roundTrip(u64(2), [5, 6n]) as { data: BigUint64Array }).data[0]).toBe(5n);
  expect([...(roundTrip(f32(3), [Number.NaN, Number.POSITIVE_INFINITY, -0]) as { data: Float32Array }).data]).toEqual([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -0,
  ]);
  expect([...(roundTrip(bool(2), [true, false]) as { data: Uint8Array }).data]).toEqual([1, 0]);
  expect((roundTrip(bool(), true) as { data: Uint8Array }).data[0]).toBe(1);
});

test("a value of another form throws with its path, and changes nothing", () => {
  const replay = new Replay({ spec: { o: { p: f32(3) }, a: i32(), b: u8(2, 2) } as Spec, tables });
  const writer = replay.writer();
  const good = { o: { p: [1, 2, 3] }, a: 1, b: [1, 2, 3, 4] };
  writer.append(good);
  const bad: [unknown, RegExp, RegExp][] = [
    [null, /^step must be an object with keys a, b, o/, /got null/],
    [7, /^step must be an object/, /got 7/],
    ["abc", /^step must be an object/, /got "abc"/],
    [{ o: good.o, a: 1 }, /^step must be an object with b \(step\.b is missing\)/, /keys o, a$/],
    [{ ...good, c: 1 }, /^step must be an object/, /keys o, a, b, c/],
    [{ o: good.o, a: 1, c: [1, 2, 3, 4] }, /^step must be an object with b and without c/, /keys o, a, c$/],
    [{ ...good, o: {} }, /^o must be an object with p \(o\.p is missing\)/, /got an object/],
    [{ ...good, o: undefined }, /^o is required/, /: an object/],
    [{ ...good, o: { p: [1, 2] } }, /^o\.p must be f32 of shape \[3\]/, /got an array of 2/],
    [{ ...good, o: { p: [1, 2, 3, 4] } }, /^o\.p must be/, /an array of 4/],
    [{ ...good, o: { p: new Float64Array(3) } }, /^o\.p must be f32/, /got Float64Array\(3\)/],
    [{ ...good, o: { p: new Float32Array(4) } }, /^o\.p must be/, /Float32Array\(4\)/],
    [{ ...good, o: { p: 3 } }, /^o\.p must be/, /got 3/],
    [{ ...good, o: { p: [1, "2", 3] } }, /^o\.p must be f32, a number/, /got "2"/],
    [{ ...good, a: "1" }, /^a must be i32/, /got "1"/],
    [{ ...good, a: [1] }, /^a must be/, /an array of 1/],
    [{ ...good, a: undefined }, /^a /, /is required/],
    [{ ...good, a: 1n }, /^a must be/, /got 1/],
    [{ ...good, a: true }, /^a must be/, /got true/],
  ];
  for (const [step, ...says] of bad) expectRefused(replay, () => writer.append(step), "SPEC_MISMATCH", ...says);
  writer.createItem("t", { length: 1 });
  expect(replay.stats().steps).toBe(1);
});

test("nested arrays must have the shape at every level, or be flat", () => {
  const replay: Replay = new Replay({ spec: { m: f32(2, 2), x: f32() }, tables });
  const writer = replay.writer();
  const lanes = replay.writer({ lanes: 2 });
  const good = [
    [
      [1, 2],
      [3, 4],
    ],
    [1, 2, 3, 4],
    [new Float32Array([1, 2]), [3, 4]],
    new Float32Array([1, 2, 3, 4]),
  ];
  for (const m of good) {
    writer.append({ m, x: 1 });
    writer.createItem("t", { length: 1 });
    writer.appendColumns({ m: [m, m], x: [1, 2] });
    writer.createItem("t", { length: 1 });
    lanes.append({ m: [m, m], x: [1, 2] });
    lanes.createItem("t", { length: 1, lane: 1 });
    const data = replay.table("t").sample(4).steps.m?.data as Float32Array;
    for (let i = 0; i < data.length; i += 4) expect([...data.subarray(i, i + 4)]).toEqual([1, 2, 3, 4]);
  }
  const bad = [
    [[1], [2, 3, 4]],
    [[1, 2, 3], [4]],
    [[1, 2, 3, 4]],
    [[1], [2], [3], [4]],
    [1, [2, 3, 4]],
    [[1, 2], 3, 4],
    [[1, 2], 3],
    [
      [[1], [2]],
      [3, 4],
    ],
    [[], [1, 2, 3, 4]],
  ];
  for (const m of bad) {
    expectRefused(replay, () => writer.append({ m, x: 1 }), "SPEC_MISMATCH", /^m must be/, /got/);
    expectRefused(replay, () => writer.appendColumns({ m: [m, good[0]], x: [1, 2] }), "SPEC_MISMATCH", /^m must be/);
    expectRefused(replay, () => lanes.append({ m: [good[0], m], x: [1, 2] }), "SPEC_MISMATCH", /^m must be/);
    expectRefused(replay, () => Object.assign(writer.staged as object, { m }), "SPEC_MISMATCH", /^m must be/);
  }
  expectRefused(replay, () => writer.appendColumns({ m: good, x: [[1], [2], [3], [4]] }), "SPEC_MISMATCH", /^x must be/, /an array of 1/);
});

test("columns may be flat, or nested by time and lane", () => {
  const replay = new Replay({ spec: { a: f32(2), b: i32() } as Spec, tables });
  const writer = replay.writer();
  const lanes = replay.writer({ lanes: 2 });
  for (const a of [
    [1, 2, 3, 4],
    [
      [1, 2],
      [3, 4],
    ],
    new Float32Array(4),
    [new Float32Array(2), new Float32Array(2)],
  ]) {
    expect(writer.appendColumns({ a, b: [1, 2] })).toBe(2);
    expect(lanes.appendColumns({ a: typeof a[0] === "object" ? [a] : a, b: [[1, 2]] })).toBe(2);
  }
});

test("columns and lanes of another form are rejected", () => {
  const replay = new Replay({ spec: { a: f32(), b: f32(2) } as Spec, tables });
  const writer = replay.writer();
  const lanes = replay.writer({ lanes: 3 });
  const columns = (value: unknown) => () => writer.appendColumns(value);
  expectRefused(replay, columns(null), "SPEC_MISMATCH", /^step must be an object with keys a, b/, /null/);
  expectRefused(replay, columns({ a: [1] }), "SPEC_MISMATCH", /^step must be an object/, /keys a$/);
  expectRefused(replay, columns({ a: [1], b: [1, 2], c: [1] }), "SPEC_MISMATCH", /^step must be an object/, /keys a, b, c/);
  expectRefused(replay, columns({ a: [], b: [] }), RangeError, /^a must be a column/, /an array of 0/);
  expectRefused(replay, columns({ a: [1, 2], b: [1, 2] }), "SPEC_MISMATCH", /^b must be f32 of shape \[2, 2\]/, /an array of 2/);
  expectRefused(replay, columns({ a: new Float64Array(1), b: [1, 2] }), "SPEC_MISMATCH", /^a must be/, /Float64Array\(1\)/);
  expectRefused(replay, columns({ a: [1], b: new Float32Array(3) }), "SPEC_MISMATCH", /^b must be/, /Float32Array\(3\)/);
  expectRefused(replay, columns({ a: ["x"], b: [1, 2] }), "SPEC_MISMATCH", /^a must be/, /"x"/);
  const step = (value: unknown) => () => lanes.append(value);
  expectRefused(replay, step({ a: [1, 2], b: [1, 2, 3, 4, 5, 6] }), "SPEC_MISMATCH", /^a must be f32 of shape \[3\]/, /an array of 2/);
  expectRefused(replay, step({ a: 1, b: [1, 2, 3, 4, 5, 6] }), "SPEC_MISMATCH", /^a must be/, /got 1/);
  expectRefused(replay, step({ a: [1, 2, 3] }), "SPEC_MISMATCH", /^step must be an object/);
  expectRefused(replay, step({ a: [1, 2, 3], b: [1, 2, 3, 4, 5, 6], c: 0 }), "SPEC_MISMATCH", /^step must be an object/);
  expectRefused(replay, () => lanes.appendColumns({ a: new Float32Array(4), b: new Float32Array(8) }), RangeError, /^a must be a column/);
  expect(replay.stats().steps).toBe(0);
});

test("pack reverses flatten, and flatten rejects another structure", () => {
  const spec = { z: f32(), a: [i32(), { m: u8() }] } as const;
  const value = { z: 1, a: [2, { m: 3 }] };
  expect(flatten(spec, value)).toEqual([2, 3, 1]);
  expect(pack(spec, flatten(spec, value))).toEqual(value);
  expect(flatten(f32(), 5)).toEqual([5]);
  const wrong: [unknown, RegExp][] = [
    [{ z: 1, b: 2 }, /^a is required: an array of 2/],
    [{ x: 1, a: [2, { m: 3 }] }, /^z is required/],
    [{ z: 1 }, /^step must be an object with a \(step\.a is missing\)/],
    [{ z: 1, a: [2, {}] }, /^a\.1 must be an object with m \(a\.1\.m is missing\)/],
    [{ z: 1, a: [2, { m: 1 }], x: 0 }, /^step/],
    [undefined, /is required/],
  ];
  for (const [bad, says] of wrong) {
    expectError(
      errorOf(() => flatten(spec, bad)),
      "SPEC_MISMATCH",
      says,
    );
  }
});

test("an invalid spec throws with its path", () => {
  const bad: [unknown, typeof TypeError | typeof RangeError | "SPEC_MISMATCH", RegExp, RegExp][] = [
    [null, TypeError, /^spec must be a leaf/, /null/],
    ["f32", TypeError, /^spec must be/, /"f32"/],
    [{ a: { b: 3 } }, TypeError, /^spec of a\.b must be/, /got 3/],
    [{}, RangeError, /^the number of leaves in spec must be an integer in 1 … 4096/, /got 0/],
    [{ a: [] }, RangeError, /^the number of leaves in spec must be/, /got 0/],
    [{ "a.b": f32() }, RangeError, /^keys of step must be names without dots/, /"a\.b"/],
    [{ a: { dtype: "f8", shape: [] } }, RangeError, /^dtype of a must be one of/, /"f8"/],
    [{ a: { dtype: "toString", shape: [] } }, RangeError, /^dtype of a/, /"toString"/],
    [{ a: { dtype: "f32" } }, TypeError, /^shape of a is required/, /: an array/],
    [{ a: f32(0) }, RangeError, /^shape of a must be an integer/, /got 0/],
    [{ a: f32(-1) }, RangeError, /^shape of a/, /got -1/],
    [{ a: f32(1.5) }, TypeError, /^shape of a/, /got 1\.5/],
    [{ a: f32("3" as never) }, TypeError, /^shape of a/, /got "3"/],
    [{ a: u8(1 << 15, 1 << 15) }, RangeError, /^bytes of a must be an integer in 1 … 1073741823/, /got 1073741824/],
    [Array.from({ length: 4097 }, () => f32()), RangeError, /^the number of leaves in spec must be/, /4097/],
    [{ a: { ...f32(), stack: 2 } }, RangeError, /^a has a stack, but is not shared/, /shared\(name/],
    [{ a: shared("x", f32(), 0) }, RangeError, /^stack of a must be an integer/, /got 0/],
    [{ a: shared("x", f32(2)), b: shared("x", f32(3)) }, "SPEC_MISMATCH", /^the frame size of b in bytes must .*\b8\b.*"x"/, /got 12/],
  ];
  for (const [spec, kind, ...says] of bad) {
    expectError(
      errorOf(() => new Replay({ spec: spec as Spec, tables })),
      kind,
      ...says,
    );
  }
});
