import { describe, expect, test } from "vitest";
import { f32, i32, prioritized, Replay } from "../../src/index.ts";
import { broken } from "../support/health.ts";
import { bytesOf, errorOf, expectError, expectRefused } from "../support/refused.ts";

const spec = { a: f32(), b: f32(3) };
const step = { a: 1, b: [1, 2, 3] };
const tables = { t: { maxSize: 4 } };

test("close frees memory, and a new writer reuses it", () => {
  const replay = new Replay({ spec, tables });
  replay.writer({ keep: 5000 }).close();
  const { used } = replay.stats().bytes;
  for (let i = 0; i < 50; i++) replay.writer({ keep: 5000 }).close();
  for (let i = 0; i < 50; i++) replay.writer({ lanes: 3 }).close();
  const after = replay.stats().bytes.used;
  for (let i = 0; i < 50; i++) replay.writer({ lanes: 3 }).close();
  expect(after - used).toBeLessThan(64 * 1024);
  expect(replay.stats().bytes.used).toBe(after);
});

test("a writer that exceeds maxBytes is not created and leaks no memory", () => {
  const replay = new Replay({ spec, tables, maxBytes: 1 << 20 });
  const { used } = replay.stats().bytes;
  for (const options of [{ lanes: 100, keep: 4000 }, { lanes: 20_000, keep: 1 }, { keep: 300_000 }]) {
    expectError(
      errorOf(() => replay.writer(options)),
      "OUT_OF_MEMORY",
      /maxBytes/,
    );
    expect(replay.stats().bytes.used).toBe(used);
    expect(replay.writers.length).toBe(0);
  }
  replay.writer().append(step);
});

test("writing to staged arrays of a closed writer changes nothing", () => {
  for (const lanes of [1, 2]) {
    const replay = new Replay({ spec, tables });
    const writer = replay.writer({ lanes });
    const { staged } = writer;
    const kept = staged.b;
    writer.close();
    kept.fill(1e10);
    expectError(
      errorOf(() => staged.b),
      "CLOSED",
      /closed/,
    );
    expectError(
      errorOf(() => {
        staged.b = new Float32Array(3);
      }),
      "CLOSED",
      /closed/,
    );
    expect(broken(replay)).toEqual([]);
    const next = replay.writer({ lanes, keep: 5000 });
    expect([...next.staged.b]).toEqual(new Array(3 * lanes).fill(0));
    kept.fill(1e10);
    next.append(lanes === 1 ? step : ({ a: [1, 2], b: [step.b, step.b] } as never));
    next.createItem("t", { length: 1 });
    expect([...replay.table("t").sample(1).steps.b.data]).toEqual([1, 2, 3]);
    expect(broken(replay)).toEqual([]);
  }
});

test("closed writers with different numbers of lanes free their staging memory", () => {
  const replay = new Replay({ spec, tables });
  const { used } = replay.stats().bytes;
  for (let lanes = 1; lanes < 60; lanes++) replay.writer({ lanes }).close();
  expect(replay.stats().bytes.used).toBe(used);
  // A program may still hold borrowed arrays, so they are detached when memory grows.
  for (let lanes = 1; lanes < 60; lanes++) {
    const writer = replay.writer({ lanes: lanes as number });
    void (writer.staged as { b: unknown }).b;
    writer.close();
  }
  replay.writer({ keep: 1_000_000 }).close();
  expect(replay.stats().bytes.used).toBe(used);
  expect(broken(replay)).toEqual([]);
});

test("open writers take less than 300 bytes each, and free them on close", () => {
  const replay = new Replay({ spec, tables });
  const { used } = replay.stats().bytes;
  const writers = Array.from({ length: 500 }, () => replay.writer());
  expect((replay.stats().bytes.used - used) / 500).toBeLessThan(300);
  for (const [i, writer] of writers.entries()) if (i % 3 !== 0) writer.close();
  for (const writer of writers) writer.close();
  expect(replay.stats().bytes.used).toBe(used);
});

describe("writers that share a staging record", () => {
  const open = () => {
    const replay = new Replay({ spec: { a: i32(), b: f32(2) }, tables: { t: { maxSize: 100_000 } } });
    const writer = () => replay.writer({ items: [{ table: "t", length: 1 }] });
    const newest = (n: number) => replay.table("t").sample(n, { replacement: false }).toArray();
    return { replay, writer, newest };
  };
  const step = (i: number) => ({ a: i, b: [i, -i] });

  test("append their own steps, even after memory has grown", () => {
    const { replay, writer } = open();
    const writers = Array.from({ length: 5 }, writer);
    const { used } = replay.stats().bytes;
    for (let i = 0; i < 20_000; i++) writers[(i * i) % 5]?.append(step(i));
    expect(replay.stats().bytes.used - used).toBeGreaterThan(300_000);
    const seen = replay.table("t").sample(20_000, { replacement: false });
    expect([...seen.steps.a.data].sort((x, y) => x - y)).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
    for (const [k, a] of seen.steps.a.data.entries()) if (seen.steps.b.data[2 * k + 1] !== -a) expect(seen.steps.b.data[2 * k + 1]).toBe(-a);
  });

  test("stage separate steps: the last step for a single writer, and zeros for others", () => {
    const { writer, newest } = open();
    const single = writer();
    single.append(step(7));
    expect([single.staged.a, ...single.staged.b]).toEqual([7, 7, -7]);
    single.append();
    const others = [writer(), writer()] as const;
    others[0].append(step(8));
    others[1].append(step(9));
    expect([others[0].staged.a, ...others[0].staged.b]).toEqual([0, 0, 0]);
    others[0].staged.a = 10;
    others[1].append(step(11));
    expect([others[0].staged.a, single.staged.a]).toEqual([10, 7]);
    others[0].append();
    // From this call on, `staged` shows the passed step.
    others[0].append(step(12));
    expect([others[0].staged.a, ...others[0].staged.b]).toEqual([12, 12, -12]);
    expectError(
      errorOf(() => others[1].append()),
      TypeError,
      /writer\.staged is empty/,
    );
    expect(
      newest(7)
        .map(({ a }) => a[0] as number)
        .sort((x, y) => x - y),
    ).toEqual([7, 7, 8, 9, 10, 11, 12]);
  });

  test("reject a step without an effect on the steps of others", () => {
    const { writer, newest } = open();
    const [a, b] = [writer(), writer()];
    expectError(
      errorOf(() => a.append({ a: 1, b: [5] } as never)),
      "SPEC_MISMATCH",
      /b/,
    );
    b.append(step(3));
    a.close();
    b.append(step(4));
    expectError(
      errorOf(() => a.append(step(5))),
      "CLOSED",
      /closed/,
    );
    expect(
      newest(2)
        .map(({ a }) => a[0] as number)
        .sort(),
    ).toEqual([3, 4]);
  });
});

test("a rule with a priority that its table does not accept is rejected", () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 4, sampler: prioritized(2) }, u: { maxSize: 4 } } });
  expectRefused(
    replay,
    () =>
      replay.writer({
        items: [
          { table: "u", length: 1, priority: 1e300 },
          { table: "t", length: 1, priority: 1e300 },
        ],
      }),
    RangeError,
    /items\[1\]\.priority/,
    /1e\+300/,
  );
  const writer = replay.writer({ items: [{ table: "t", length: 1, priority: 1e148 }] });
  writer.append(step);
  expect(Replay.restore(bytesOf(replay)).table("t").sample(1).info.priorities[0]).toBe(1e148);
});

test("every public call of a closed writer throws CLOSED", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer();
  writer.append(step);
  writer.close();
  writer.close();
  writer[Symbol.dispose]();
  expect(replay.writers).toEqual([]);
  const calls = {
    append: () => writer.append(step),
    appendColumns: () => writer.appendColumns({ a: [1], b: [[1, 2, 3]] }),
    createItem: () => writer.createItem("t", { length: 1 }),
    endEpisode: () => writer.endEpisode(),
    flush: () => writer.flush(),
    lastKey: () => writer.lastKey("t"),
    length: () => writer.length,
    episodeSteps: () => writer.episodeSteps,
    staged: () => writer.staged,
  };
  for (const call of Object.values(calls)) expectRefused(replay, call, "CLOSED", /writer was closed/, /replay\.writer\(\)/);
});

test("items remain after their writer is closed", () => {
  const replay = new Replay({ spec, tables });
  {
    const writer = replay.writer();
    writer.append(step);
    writer.append({ a: 2, b: [4, 5, 6] });
    writer.createItem("t", { length: 1 });
    expect(replay.stats()).toMatchObject({ steps: 2, writers: 1 });
    writer.close();
  }
  expect(replay.stats()).toMatchObject({ steps: 1, writers: 0 });
  expect([...replay.table("t").sample(1).steps.b.data]).toEqual([4, 5, 6]);
});
