/** Tests half-float leaves: two bytes in rows, f32 in batches, and rounding to the nearest half for all inputs. */
import { describe, expect, test } from "vitest";
import { bf16, f16, f32, Replay, type Spec, shared } from "../../src/index.ts";
import { ReplayBuffer } from "../../src/pfrl/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { placeLeaves, stepValue } from "../../src/reverb/step-values.ts";
import { narrowHalves, roundHalf, widenHalves } from "../../src/schema/half.ts";
import type { MeasuredLeaf } from "../../src/schema/layout.ts";
import { leavesOf } from "../../src/schema/spec.ts";
import { LocalClient, TFUniformReplayBuffer } from "../../src/tf-agents/index.ts";
import { moduleOf } from "../support/core.ts";
import { expectRefused } from "../support/refused.ts";
import { some } from "../support/size.ts";

type Half = "f16" | "bf16";
const LEAVES = { f16, bf16 };
const HALVES = ["f16", "bf16"] as const;
/** The largest finite value, and the smallest number that rounds to infinity. */
const EDGES = { f16: [65504, 65520], bf16: [3.3895313892515355e38, 3.39617752923046e38] } as const;
/** The bits of infinity; larger bit patterns are NaN. */
const INFINITE = { f16: 0x7c00, bf16: 0x7f80 } as const;

const bitsOf = (numbers: Float32Array) => new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
const all = Uint16Array.from({ length: 65536 }, (_, i) => i);

/** Returns the value of a half float, computed from its definition. */
function numberOf(dtype: Half, bits: number): number {
  const [exponentBits, fractionBits] = dtype === "f16" ? [5, 10] : [8, 7];
  const exponent = (bits & 0x7fff) >> fractionBits;
  const fraction = (bits & (2 ** fractionBits - 1)) / 2 ** fractionBits;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 2 ** exponentBits - 1) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * 2 ** (Math.max(exponent, 1) - (2 ** (exponentBits - 1) - 1)) * (fraction + (exponent === 0 ? 0 : 1));
}

/** Stores a typed array in a Replay with the given module, and returns the stored numbers. */
function stored(dtype: Half, numbers: Float32Array, module?: WebAssembly.Module): Float32Array {
  const replay = new Replay({ spec: { x: LEAVES[dtype](numbers.length) }, tables: { t: { maxSize: 1 } }, logger: null, ...(module && { module }) });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.append({ x: numbers });
  return replay.table("t").sample(1).steps.x.data as Float32Array;
}

describe.each(some(HALVES, 1))("%s", (dtype) => {
  const numbers = widenHalves(dtype, all);

  test("all 65,536 bit patterns convert to their values and back, in JavaScript and in both builds", () => {
    for (let bits = 0; bits < 65536; bits++) if (!Object.is(numbers[bits], numberOf(dtype, bits))) expect(numbers[bits]).toBe(numberOf(dtype, bits));
    expect(narrowHalves(dtype, numbers)).toEqual(all);
    for (const module of [undefined, moduleOf("scalar")]) expect(bitsOf(stored(dtype, numbers, module)).join()).toBe(bitsOf(numbers).join());
  });

  test("stepValue, which checks values for server clients, preserves all 65,536 bit patterns", () => {
    const value = stepValue(placeLeaves(leavesOf(LEAVES[dtype](numbers.length)))[0] as MeasuredLeaf, numbers) as Float32Array;
    expect(narrowHalves(dtype, value)).toEqual(all);
  });

  test("a midpoint rounds to the even neighbour, and numbers near it round once to the nearest", () => {
    const middles: number[] = [];
    const rounded: number[] = [];
    for (let bits = 0; bits < INFINITE[dtype] - 1; bits++) {
      const [low, high] = [numberOf(dtype, bits), numberOf(dtype, bits + 1)];
      const middle = (low + high) / 2;
      // The difference is too small for f32.
      const [below, above] = [middle * (1 - 2 ** -50), middle * (1 + 2 ** -50)];
      const even = bits % 2 === 0 ? low : high;
      const results = [middle, below, above, -middle, -below, -above].map((number) => roundHalf(dtype, number));
      if (results.join() !== [even, low, high, -even, -low, -high].join()) expect(results, String(bits)).toEqual([even, low, high, -even, -low, -high]);
      middles.push(middle, -middle);
      rounded.push(even, -even);
    }
    for (const module of [undefined, moduleOf("scalar")]) expect(stored(dtype, Float32Array.from(middles), module)).toEqual(Float32Array.from(rounded));
  });

  test("every way of writing rounds a number in the same way", async () => {
    const [x] = [1 + (dtype === "f16" ? 2 ** -11 : 2 ** -8) * (1 + 2 ** -30)];
    const want = roundHalf(dtype, x);
    expect(want).toBe(1 + (dtype === "f16" ? 2 ** -10 : 2 ** -7));
    const spec = { one: LEAVES[dtype](), line: LEAVES[dtype](3), square: LEAVES[dtype](2, 20), stack: shared("s", LEAVES[dtype](2), 2) };
    const replay = new Replay({ spec, tables: { t: { maxSize: 100 } } });
    const items = [{ table: "t", length: 1 }] as const;
    const writer = replay.writer({ items });
    const step = { one: x, line: [x, x, x], square: [Array(20).fill(x), Array(20).fill(x)], stack: [x, x, x, x] } as never;
    writer.append(step);
    Object.assign(writer.staged, step);
    writer.append();
    writer.appendColumns({ one: [x, x], line: Array(6).fill(x), square: Array(80).fill(x), stack: Array(8).fill(x) } as never);
    replay.writer({ items, lanes: 2 }).append({ one: [x, x], line: Array(6).fill(x), square: Array(80).fill(x), stack: Array(8).fill(x) } as never);
    const { port1, port2 } = new MessageChannel();
    const [, actor] = await Promise.all([replay.acceptWriter(port1, { items }), remoteWriter(port2, { spec })]);
    actor.append(step);
    actor.appendColumns({ one: [x], line: [x, x, x], square: Array(40).fill(x), stack: Array(4).fill(x) } as never);
    await actor.close();
    const { size } = replay.table("t");
    expect(size).toBe(8);
    const { steps } = replay.table("t").sample(size, { replacement: false });
    for (const { data } of Object.values(steps)) expect(new Set(data as Float32Array)).toEqual(new Set([want]));
  });

  const [largest, beyond] = EDGES[dtype];
  const far = [beyond, -beyond, 3.4e38, Number.MAX_VALUE];
  const says = [new RegExp(`must be finite as ${dtype}, from -${largest} to ${largest}, or Infinity`.replaceAll("+", "\\+"))];
  const spec = { one: LEAVES[dtype](), line: LEAVES[dtype](3), wide: LEAVES[dtype](600), stack: shared("s", LEAVES[dtype](2), 2) };
  const good = { one: 1, line: [1, 2, 3], wide: new Float32Array(600), stack: [1, 2, 3, 4] };
  const replay = new Replay({ spec: spec as Spec, tables: { t: { maxSize: 500 } }, logger: null });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const lanes = replay.writer({ lanes: 2 });

  test.each(far)("a finite number that overflows, %d, is rejected at every position, and changes nothing", (x) => {
    writer.append(good);
    const wide = (at: number) => new Float32Array(600).fill(Math.fround(x), at, at + 1);
    const bad: object[] = [
      { one: x },
      { line: [1, x, 3] },
      {
        stack: [
          [1, 2],
          [3, x],
        ],
      },
      { line: [1, 2, x] },
    ];
    // Numbers in the range of f32 are also passed as typed arrays.
    if (Number.isFinite(Math.fround(x))) bad.push({ line: Float32Array.of(1, x, 2) }, { wide: wide(0) }, { wide: wide(8) }, { wide: wide(599) });
    for (const part of bad) {
      const step = { ...good, ...part };
      expectRefused(replay, () => writer.append(step), "INVALID_DATA", ...says, new RegExp(`^${Object.keys(part)[0]} `));
      const columns = Object.fromEntries(Object.entries(step).map(([name, value]) => [name, [good[name as "one"], value]]));
      expectRefused(replay, () => writer.appendColumns(columns as never), "INVALID_DATA", ...says);
      expectRefused(replay, () => writer.endEpisode({ final: part as never, terminated: true }), "INVALID_DATA", /^final\./, ...says);
      expectRefused(replay, () => lanes.append(columns as never), "INVALID_DATA", ...says);
      // A rejected step is not stored, so the next call succeeds.
      writer.append(good);
      expect([...(replay.table("t").sample(1).steps as never as { line: { data: Float32Array } }).line.data]).toEqual([1, 2, 3]);
    }
    if (!Number.isFinite(Math.fround(x))) return;
    const { staged } = writer as { staged: { line: Float32Array } };
    Object.assign(staged, good);
    staged.line[2] = x;
    expectRefused(replay, () => writer.append(), "INVALID_DATA", ...says, /^line /);
    staged.line[2] = 7;
    writer.append();
    const columns = Float32Array.of(1, 2, 3, 1, 2, x);
    expectRefused(
      replay,
      () => writer.appendColumns({ one: [1, 2], line: columns, wide: new Float32Array(1200), stack: Array(8).fill(1) } as never),
      "INVALID_DATA",
      ...says,
    );
  });

  test("stores the largest value, numbers that round to it, infinities, NaN and -0", () => {
    const values = [largest, -largest, largest + (beyond - largest) / 2, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, -0];
    const want = [largest, -largest, largest, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, -0];
    expect([...stored(dtype, Float32Array.from(values))]).toEqual(want);
    const own = new Replay({ spec: { x: LEAVES[dtype](7) }, tables: { t: { maxSize: 1 } }, logger: null });
    own.writer({ items: [{ table: "t", length: 1 }] }).append({ x: values });
    expect([...own.table("t").sample(1).steps.x.data]).toEqual(want);
  });

  test("NaN is logged once, with the name of its leaf", () => {
    const said: string[] = [];
    const own = new Replay({ spec: { x: LEAVES[dtype](40), y: LEAVES[dtype]() }, tables: { t: { maxSize: 9 } }, logger: (message) => said.push(message) });
    const steps = own.writer({ items: [{ table: "t", length: 1 }] });
    steps.append({ x: new Float32Array(40), y: 0 } as never);
    steps.append({ x: new Float32Array(40).fill(Number.NaN, 7, 8), y: 0 } as never);
    steps.appendColumns({ x: new Float32Array(80).fill(Number.NaN), y: [1, 1] } as never);
    expect(said).toEqual([expect.stringMatching(/^reprise: x contains NaN/)]);
  });

  test("accepts arrays of numbers and a Float32Array, and rejects other typed arrays, like f32", () => {
    for (const leaf of [LEAVES[dtype], f32]) {
      const own = new Replay({ spec: { x: leaf(2) }, tables: { t: { maxSize: 9 } } });
      const steps = own.writer({ items: [{ table: "t", length: 1 }] });
      steps.append({ x: [1, 2] });
      steps.append({ x: Float32Array.of(1, 2) });
      for (const x of [Float64Array.of(1, 2), Uint16Array.of(1, 2), new Float32Array(3), [1], "no"])
        expectRefused(own, () => steps.append({ x: x as never }), "SPEC_MISMATCH", /^x must be b?f(16|32) of shape \[2\]/);
    }
  });

  test("clients and buffers store it, and return it as f32", () => {
    const small = { x: LEAVES[dtype](2) };
    const tables = { t: { maxSize: 9 } };
    const local = new Replay({ spec: small, tables });
    new LocalClient(local).insert({ x: [0.1, 2] } as never, { t: 1 });
    expect(local.table("t").sample(1).steps.x.data).toEqual(Float32Array.of(roundHalf(dtype, 0.1), 2));
    const uniform = new TFUniformReplayBuffer(small, { batchSize: 1, maxLength: 3 });
    uniform.addBatch({ x: [[0.1, 1]] } as never);
    expect(uniform.gatherAll()).toMatchObject({ x: { data: Float32Array.of(roundHalf(dtype, 0.1), 1) } });
    const pfrl = new ReplayBuffer(9, { spec: { state: LEAVES[dtype](2), action: f32(1), reward: LEAVES[dtype]() } } as never);
    pfrl.append({ state: [0.1, 1], action: [0], reward: 0.3, nextState: [1, 2], isStateTerminal: true } as never);
    const { state, reward } = pfrl.sample(1) as unknown as { readonly [part: string]: { readonly data: Float32Array } };
    expect([...(state?.data ?? []), ...(reward?.data ?? [])]).toEqual([roundHalf(dtype, 0.1), 1, roundHalf(dtype, 0.3)]);
  });
});

test.runIf("Float16Array" in globalThis)("f16 accepts a Float16Array if the platform has one, and bf16 rejects it", () => {
  const Float16 = (globalThis as unknown as { Float16Array: { from(values: number[]): never } }).Float16Array;
  const replay = new Replay({ spec: { x: f16(20) }, tables: { t: { maxSize: 9 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  writer.append({ x: Float16.from(Array(20).fill(0.1)) });
  writer.appendColumns({ x: Float16.from(Array(40).fill(0.1)) });
  expect(new Set(replay.table("t").sample(9).steps.x.data)).toEqual(new Set([roundHalf("f16", 0.1)]));
  const other = new Replay({ spec: { x: bf16(2) }, tables: { t: { maxSize: 9 } } });
  expectRefused(other, () => other.writer().append({ x: Float16.from([1, 2]) }), "SPEC_MISMATCH", /^x must be bf16/);
});

test("f16 needs half the bytes of f32 in the plan", () => {
  const plan = (leaf: typeof f16 | typeof f32) => Replay.plan({ spec: { x: leaf(64) } as Spec, tables: { t: { maxSize: 1e5 } } });
  const [half, whole] = [plan(f16), plan(f32)];
  expect(whole.bytesPerStep - half.bytesPerStep).toBe(128);
  expect(whole.bytes - half.bytes).toBeGreaterThan(0.95 * 128e5);
});
