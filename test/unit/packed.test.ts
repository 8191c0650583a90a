import { expect, test } from "vitest";
import { fifo, i32, lifo, type PackedOptions, packed, Replay, type Selector, shared, text, u8, u16, uniform } from "../../src/index.ts";
import { errorOf, expectError } from "../support/refused.ts";

const FRAME = 1200;
const noise = (seed: number) => (i: number) => (Math.imul(i + 1, 2654435761) ^ Math.imul(seed, 40503)) >>> 13;
/** Returns a mostly constant frame (1,100 bytes never change), or an incompressible one. */
const frameOf = (t: number, noisy = t % 40 > 30) => Uint8Array.from({ length: FRAME }, (_, i) => (noisy ? noise(t)(i) : i === (t * 7) % FRAME ? 255 : i % 60));

test("packed declares a leaf like shared, with a ratio", () => {
  expect(packed("f", u8(84, 84), 4)).toEqual({ dtype: "u8", shape: [84, 84], shared: "f", stack: 4, packed: 4 });
  expect(packed("f", u16(300), { ratio: 9.5 })).toMatchObject({ shared: "f", packed: 9.5 });
  expect(packed("f", u8(300), 2, { ratio: 1 })).toMatchObject({ stack: 2, packed: 1 });
  const replay = new Replay({ spec: { o: packed("f", u8(8, 64), 3), words: packed("w", text({ maxBytes: 400 })) } });
  const writer = replay.writer();
  writer.append({ o: new Uint8Array(3 * 512).fill(7), words: "so it goes" });
  expect(replay.stats().packed.f).toMatchObject({ frames: 1, rawBytes: 512 });
  expect(replay.stats().packed.w?.frames).toBe(1);
});

test("a spec rejects leaves that cannot be packed, and names their path", () => {
  const make = (spec: object) => errorOf(() => new Replay({ spec: spec as never }));
  expectError(
    make({ a: { b: packed("f", u8(255)) } }),
    RangeError,
    /^the frame size of a\.b in bytes must be at least 256, got 255\. Use shared for smaller frames$/,
  );
  expectError(make({ o: packed("f", u8(2 ** 24)) }), RangeError, /^the frame size of o in bytes must be an integer in 256 … 16777215, got 16777216/);
  expectError(
    make({ o: packed("f", u8(400)), p: packed("f", u8(400), { ratio: 5 }) }),
    "SPEC_MISMATCH",
    /^p must be packed with ratio 4, as for the other leaves shared as "f", got ratio 5/,
  );
  expectError(make({ o: shared("f", u8(400)), p: packed("f", u8(400)) }), "SPEC_MISMATCH", /^p must be not packed/);
  expectError(make({ o: { ...u8(400), packed: 2 } }), RangeError, /^o .* packed\(name, leaf\)$/);
  for (const ratio of [0.5, 0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    expectError(
      errorOf(() => packed("f", u8(400), { ratio })),
      RangeError,
      /^ratio must be/,
    );
  expectError(
    errorOf(() => packed("f", u8(400), 2, { rate: 3 } as PackedOptions)),
    TypeError,
    /^packed has no option "rate"/,
  );
});

test("a plan uses the ratio, and reports the bytes without compression", () => {
  const tables = { t: { maxSize: 100_000 } };
  const plan = (leaf: typeof u8 extends never ? never : ReturnType<typeof u8>) => Replay.plan({ spec: { o: leaf }, tables });
  const raw = plan(shared("f", u8(84, 84)));
  const four = plan(packed("f", u8(84, 84)));
  const twenty = plan(packed("f", u8(84, 84), { ratio: 20 }));
  expect(raw.worstBytes).toBe(raw.bytes);
  expect(four.bytes).toBeLessThan(0.28 * raw.bytes);
  expect(twenty.bytes).toBeLessThan(0.32 * four.bytes);
  expect(twenty.worstBytes).toBe(four.worstBytes);
  expect(four.worstBytes / raw.bytes).toBeGreaterThan(1);
  expect(four.worstBytes / raw.bytes).toBeLessThan(1.01);
  expect(Replay.plan({ spec: { o: packed("f", u8(84, 84)) }, tables, storedBytes: { max: 2e6 } }).bytes).toBeLessThan(four.bytes - 15e6);
});

/** Appends steps with a stack of two frames. Returns the largest number of stored bytes after any of the calls. */
function fill(replay: Replay, steps: number, from = 0): number {
  const writer = replay.writers[0] ?? replay.writer({ items: [{ table: "t", length: 2 }] });
  let peak = 0;
  for (let t = from; t < from + steps; t++) {
    const o = new Uint8Array(2 * FRAME);
    if (t % 50 !== 0) o.set(frameOf(t - 1));
    o.set(frameOf(t), FRAME);
    writer.append({ o, n: t });
    if (t % 50 === 49) writer.endEpisode();
    peak = Math.max(peak, replay.stats().bytes.stored ?? 0);
  }
  return peak;
}

const limited = (remover: Selector, max = 60_000) =>
  new Replay({ spec: { o: packed("f", u8(FRAME), 2), n: i32() }, tables: { t: { maxSize: 10_000, remover } }, storedBytes: { max, evictFrom: "t" }, seed: 3 });

for (const remover of [fifo(), uniform(), lifo()])
  test(`storedBytes holds with a ${remover.kind} remover, and a restored Replay evicts the same items`, () => {
    const replay = limited(remover);
    expect(fill(replay, 400)).toBeLessThanOrEqual(60_000);
    expect(replay.tables.t.size).toBeGreaterThan(20);
    expect(replay.tables.t.stats().deletes).toBeGreaterThan(100);
    for (let t = 400; t < 900; t += 100) {
      const copy = Replay.restore(replay.snapshot());
      expect(copy.options.storedBytes).toEqual({ max: 60_000, evictFrom: "t" });
      fill(replay, 100, t);
      fill(copy, 100, t);
      expect(Buffer.concat([...copy.snapshot()]).equals(Buffer.concat([...replay.snapshot()]))).toBe(true);
    }
    const { stored } = replay.stats().bytes;
    replay.tables.t.clear();
    expect(replay.stats().bytes.stored).toBeLessThan((stored as number) / 4);
  });

test("append rejects a step beyond storedBytes if there is no item to evict, and changes nothing", () => {
  const replay = limited(fifo(), 20_000);
  const writer = replay.writer({ keep: 100 });
  const append = (t: number) => writer.append({ o: new Uint8Array(2 * FRAME).map((_, i) => noise(t)(i)), n: t });
  let t = 0;
  const refused = () => errorOf(() => append(t));
  for (; replay.stats().bytes.stored === undefined || (replay.stats().bytes.stored as number) + 2 * (FRAME + 8 + 24) + 24 <= 20_000; t++) append(t);
  const before = Buffer.concat([...replay.snapshot()]);
  expectError(refused(), "OUT_OF_MEMORY", /^storedBytes\.max \(0\.01907 MiB\) is reached/);
  expect(Buffer.concat([...replay.snapshot()]).equals(before)).toBe(true);
  writer.endEpisode();
  append(t);
});

test("new Replay rejects invalid options of storedBytes", () => {
  const make = (storedBytes: object) => errorOf(() => new Replay({ spec: { o: u8(400) }, tables: { t: { maxSize: 5 } }, storedBytes: storedBytes as never }));
  expectError(make({ max: 411 }), RangeError, /^storedBytes\.max must .*412.*got 411$/);
  expectError(make({ max: "1" }), TypeError, /^storedBytes\.max must be a finite number/);
  expectError(make({ max: 1e6, evictFrom: "u" }), "NOT_FOUND", /^storedBytes\.evictFrom must be one of "t", got "u"$/);
  expectError(make({ maxBytes: 1 }), TypeError, /^storedBytes has no option "maxBytes"/);
});

test("a block of columns stays within storedBytes, like single steps", () => {
  const replay = new Replay({ spec: { o: packed("f", u8(FRAME)) }, tables: { t: { maxSize: 5000 } }, storedBytes: { max: 50_000, evictFrom: "t" } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const o = new Uint8Array(100 * FRAME);
  for (let t = 0; t < 10; t++) {
    for (let k = 0; k < 100; k++) o.set(frameOf(100 * t + k), k * FRAME);
    writer.appendColumns({ o });
    expect(replay.stats().bytes.stored).toBeLessThanOrEqual(50_000);
  }
  expect(replay.tables.t.size).toBeGreaterThan(30);
  const newest = replay.tables.t.sample(4).steps.o;
  expect(newest.shape).toEqual([4, 1, FRAME]);
});
