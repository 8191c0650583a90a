import { expect, test } from "vitest";
import { f32, i32, Replay, type Spec, shared, u8 } from "../../../src/index.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf } from "../../support/refused.ts";

interface Shown {
  readonly data: Uint8Array;
  readonly shape: readonly number[];
}

/** Returns the value of row i; the bytes identify i at any offset. */
function rowOf(i: number, bytes: number): Uint8Array {
  const value = new Uint8Array(bytes);
  const random = new TestRandom(i);
  for (let k = 0; k < Math.min(bytes, 8); k++) value[k] = random.below(256);
  value[bytes - 1] = i & 255;
  return value;
}

// Blocks have 1,024 rows of the smallest size, and one row from 32,748 bytes on; leaves are wide from 1 KiB on, and copied directly from 4 KiB on.
test.each([
  [1, 1023],
  [1, 1024],
  [1, 1025],
  [3, 3000],
  [8, 2050],
  [52, 1025],
  [1023, 130],
  [1024, 130],
  [1025, 130],
  [4095, 40],
  [4096, 40],
  [4097, 40],
  [32_747, 6],
  [32_748, 6],
  [32_749, 6],
  [65_535, 4],
  [65_536, 4],
  [200_000, 3],
])("rows of %i bytes in a table of %i keep their values after reuse and restore", (bytes, maxSize) => {
  const replay = new Replay({ spec: { i: i32(), v: u8(bytes) }, tables: { t: { maxSize }, windows: { maxSize: 3 } } });
  const writer = replay.writer({ keep: 3 });
  const turns = Math.ceil(2.3 * maxSize);
  for (let i = 0; i < turns; i++) {
    writer.append({ i, v: rowOf(i, bytes) });
    writer.createItem("t", { length: 1 });
    if (i % 7 === 6) writer.createItem("windows", { length: 3 });
  }
  for (const one of [replay, Replay.restore(bytesOf(replay)) as unknown as typeof replay]) {
    const batch = one.table("t").sample(maxSize, { replacement: false });
    const seen = new Set<number>();
    for (let k = 0; k < maxSize; k++) {
      const i = batch.steps.i.data[k] as number;
      seen.add(i);
      expect(Buffer.compare(batch.steps.v.data.subarray(k * bytes, (k + 1) * bytes), rowOf(i, bytes))).toBe(0);
    }
    expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: maxSize }, (_, k) => turns - maxSize + k));
    const windows = one.table("windows").sample(8, { length: 4, mask: true });
    for (let k = 0; k < windows.count; k++) {
      const first = windows.steps.i.data[4 * k] as number;
      for (let s = 0; s < 4; s++) {
        const expected = s < 3 ? rowOf(first + s, bytes) : new Uint8Array(bytes);
        expect(Buffer.compare(windows.steps.v.data.subarray((4 * k + s) * bytes, (4 * k + s + 1) * bytes), expected)).toBe(0);
      }
    }
  }
});

test("leaves of many widths in one row do not overwrite each other", () => {
  const spec = Object.fromEntries([1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 32, 33, 64, 100].map((n) => [`b${n}`, u8(n)])) as {
    [name: string]: ReturnType<typeof u8>;
  };
  const replay = new Replay({ spec: { ...spec, f: f32(), g: f32(3) } as Spec, tables: { t: { maxSize: 50 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  const step = (i: number) =>
    Object.fromEntries([...Object.entries(spec).map(([name, { shape }]) => [name, new Uint8Array(shape[0] as number).fill(i)]), ["f", i], ["g", [i, -i, i]]]);
  for (let i = 0; i < 60; i++) writer.append(step(i));
  const steps = replay.table("t").sample(20).steps as { [name: string]: { data: Float32Array; shape: readonly number[] } };
  for (const [name, { data, shape }] of Object.entries(steps)) {
    const size = shape[2] ?? 1;
    for (let k = 0; k < 40; k++) {
      const i = steps.f?.data[k] as number;
      expect([name, ...data.subarray(k * size, (k + 1) * size)]).toEqual([name, ...(name === "g" ? [i, -i, i] : new Array(size).fill(i))]);
    }
  }
});

test("shared frames are stored once, and frames of zeros use no memory", () => {
  const frame = 4000;
  const spec = { s: shared("frames", u8(frame), 4), next: shared("frames", u8(frame), 4) };
  const plain = { s: u8(4, frame), next: u8(4, frame) };
  const used = (given: Spec) => {
    const replay = new Replay({ spec: given, tables: { t: { maxSize: 100 } } });
    const writer = replay.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
    const { used: before } = replay.stats().bytes;
    const at = (i: number) => (i < 0 ? new Uint8Array(frame) : rowOf(i, frame));
    const stack = (i: number) => Buffer.concat([at(i - 3), at(i - 2), at(i - 1), at(i)]);
    for (let i = 0; i < 250; i++) writer.append({ s: new Uint8Array(stack(i)), next: new Uint8Array(stack(i + 1)) });
    const taken = replay.stats().bytes.used - before;
    const steps = replay.table("t").sample(100, { replacement: false }).steps as unknown as { s: Shown; next: Shown };
    expect(steps.s.shape).toEqual([100, 1, 4, frame]);
    const firsts = Array.from({ length: 100 }, (_, k) => steps.s.data[(4 * k + 4) * frame - 1] as number).sort((a, b) => a - b);
    expect(firsts).toEqual(Array.from({ length: 100 }, (_, k) => 150 + k));
    for (let k = 0; k < 100; k++) {
      const i = steps.s.data[(4 * k + 4) * frame - 1] as number;
      expect(Buffer.compare(steps.next.data.subarray(4 * k * frame, 4 * (k + 1) * frame), stack(i + 1))).toBe(0);
    }
    return taken;
  };
  const once = used(spec);
  expect(once).toBeLessThan(104 * frame * 3);
  expect(used(plain)).toBeGreaterThan(100 * frame * 8);
  const zeros = new Replay({ spec, tables: { t: { maxSize: 1000 } } });
  const writer = zeros.writer({ items: [{ table: "t", length: 1 }] });
  const step = { s: new Uint8Array(4 * frame), next: new Uint8Array(4 * frame) };
  for (let i = 0; i < 1000; i++) writer.append(step as never);
  expect(zeros.stats().bytes.used).toBeLessThan(1 << 20);
});

test("frames are released with the last step that references them", () => {
  const replay = new Replay({ spec: shared("f", u8(1000)), tables: { t: { maxSize: 10 } } });
  const writer = replay.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
  for (let i = 0; i < 200; i++) writer.append(rowOf(i >> 1, 1000));
  const { used } = replay.stats().bytes;
  for (let i = 0; i < 5000; i++) writer.append(rowOf(i, 1000));
  expect(replay.stats().bytes.used - used).toBeLessThan(128 * 1024);
  const batch = replay.table("t").sample(10, { replacement: false });
  const found = Array.from({ length: 10 }, (_, k) => batch.steps.data.subarray(1000 * k, 1000 * k + 1000));
  for (let i = 4990; i < 5000; i++) expect(found.some((value) => Buffer.compare(value, rowOf(i, 1000)) === 0)).toBe(true);
});
