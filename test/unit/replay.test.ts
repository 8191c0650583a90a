import { expect, test } from "vitest";
import { f32, i32, minSize, prioritized, Replay, type ReplayErrorCode, u8, uniform } from "../../src/index.ts";
import {
  PersistentReplayBuffer,
  EpisodicReplayBuffer as PfrlEpisodicReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
} from "../../src/pfrl/index.ts";
import { memory } from "../../src/storage/index.ts";
import { EpisodicReplayBuffer, LocalClient, PyUniformReplayBuffer, TFUniformReplayBuffer } from "../../src/tf-agents/index.ts";
import { moduleOf } from "../support/core.ts";
import { errorOf, expectError, expectRefused } from "../support/refused.ts";

type Kind = typeof TypeError | typeof RangeError | ReplayErrorCode;

test("every constructor with a seed requires an integer of 64 bits", async () => {
  const spec = { x: f32() };
  const makers: ((seed: never) => unknown)[] = [
    (seed) => Replay.plan({ spec, seed }),
    (seed) => new TFUniformReplayBuffer(spec, { batchSize: 1, seed }),
    (seed) => new EpisodicReplayBuffer(spec, { seed }),
    (seed) => new PyUniformReplayBuffer(spec, { capacity: 4, seed }),
    (seed) => LocalClient.of({ spec, tables: [{ name: "t", maxSize: 1 }], seed }),
    (seed) => new ReplayBuffer({ seed }),
    (seed) => new PrioritizedReplayBuffer(9, { seed }),
    (seed) => new PfrlEpisodicReplayBuffer({ seed }),
    (seed) => new PrioritizedEpisodicReplayBuffer({ seed }),
    (seed) => new PersistentReplayBuffer(memory(), 9, { seed }),
  ];
  for (const seed of [-1, -1n, 2n ** 64n, 2n ** 70n, 2 ** 53, 2 ** 64, Number.NaN, Number.NEGATIVE_INFINITY] as never[]) {
    for (const make of makers)
      expectError(
        errorOf(() => make(seed)),
        RangeError,
        /^seed must .*2\^53/,
      );
    await expect(Replay.open({ dir: memory(), spec, seed })).rejects.toThrow(RangeError);
  }
  for (const seed of [0, 2 ** 53 - 1, 0n, 2n ** 64n - 1n] as never[]) for (const make of makers) make(seed);
});

test("two Replays without a seed produce the same draws as seed 0", () => {
  const drawn = [{}, {}, { seed: 0 }, { seed: 0n }].map((options) => {
    const replay = new Replay({ spec: { x: i32() }, tables: { t: { maxSize: 99 } }, ...options });
    replay.writer({ items: [{ table: "t", length: 1 }] }).appendColumns({ x: Int32Array.from({ length: 99 }, (_, i) => i) });
    return [...(replay.table("t").sample(20).steps.x.data as Int32Array)].join();
  });
  expect(new Set(drawn).size).toBe(1);
});

test("the constructor rejects invalid options", () => {
  const good = { spec: f32(), tables: { t: { maxSize: 4 } } };
  const table = (options: unknown) => ({ ...good, tables: { t: options } });
  const bad: [unknown, Kind, ...RegExp[]][] = [
    [null, TypeError, /^the options of Replay must be an object with keys spec, tables/, /null/],
    [{ ...good, maxbytes: 1 }, TypeError, /^Replay has no option "maxbytes"\. Did you mean "maxBytes"\? Options: spec/],
    [{ ...good, tables: { "": { maxSize: 1 } } }, RangeError, /^the name of a table must be/],
    [{ ...good, seed: -1 }, RangeError, /^seed must/, /got -1/],
    [{ ...good, seed: 1.5 }, TypeError, /^seed must/, /1\.5/],
    [{ ...good, seed: "1" }, TypeError, /^seed must/, /"1"/],
    [{ ...good, seed: Number.NaN }, RangeError, /^seed must/, /NaN/],
    [{ ...good, seed: Number.POSITIVE_INFINITY }, RangeError, /^seed must/, /Infinity/],
    [{ ...good, seed: 2 ** 53 }, RangeError, /^seed must/, / got 9007199254740992/],
    [{ ...good, seed: -1n }, RangeError, /^seed must/, /got -1n/],
    [{ ...good, seed: 2n ** 64n }, RangeError, /^seed must/, /got 18446744073709551616n/],
    [{ ...good, seed: null }, TypeError, /^seed must/, /got null/],
    [{ ...good, maxBytes: 0 }, RangeError, /^maxBytes must/, /got 0/],
    [{ ...good, maxBytes: 2 ** 33 }, RangeError, /^maxBytes must/, /8589934592/],
    [{ ...good, maxBytes: 1000.5 }, TypeError, /^maxBytes must/, /1000\.5/],
    [
      { ...good, maxBytes: 1000 },
      RangeError,
      /^maxBytes must be at least \d+ .*, got 1000/,
      / for the tables and \d+ steps of \d+ bytes/,
      /lower maxSize or maxSteps/,
    ],
    [table(null), TypeError, /^tables\.t must be an object/, /null/],
    [table(3), TypeError, /^tables\.t must be an object/, /got 3/],
    [table({}), TypeError, /^tables\.t\.maxSize is required/],
    [table({ maxSize: 0 }), RangeError, /^tables\.t\.maxSize must/, /got 0/],
    [table({ maxSize: 1.5 }), TypeError, /^tables\.t\.maxSize must/, /1\.5/],
    [table({ maxSize: "4" }), TypeError, /^tables\.t\.maxSize must/, /"4"/],
    [table({ maxSize: 2 ** 26 }), RangeError, /^tables\.t\.maxSize must/, /67108864/],
    [{ spec: f32(4), tables: { t: { maxSize: 2 ** 26 - 1 } } }, RangeError, /^maxBytes( \(4 GiB by default\))? must be at least/],
    [table({ maxSize: 4, size: 1 }), TypeError, /^tables\.t has no option "size"/],
    [table({ maxSize: 4, maxTimesSampled: 0 }), RangeError, /^tables\.t\.maxTimesSampled must/, /got 0/],
    [table({ maxSize: 4, maxSteps: 0 }), RangeError, /^tables\.t\.maxSteps must/, /got 0/],
    [table({ maxSize: 4, maxSteps: true }), TypeError, /^tables\.t\.maxSteps must/, /true/],
    [table({ maxSize: 4, maxPending: -1 }), RangeError, /^tables\.t\.maxPending must/, /got -1/],
    [table({ maxSize: 4, sampler: "uniform" }), TypeError, /^tables\.t\.sampler must be a selector/, /"uniform"/],
    [table({ maxSize: 4, sampler: uniform }), TypeError, /^tables\.t\.sampler must be/, /a function/],
    [table({ maxSize: 4, remover: { kind: "random" } }), TypeError, /^tables\.t\.remover must be/],
    [table({ maxSize: 4, remover: { kind: "toString" } }), TypeError, /^tables\.t\.remover must be/],
    [table({ maxSize: 4, sampler: { kind: "prioritized", exponent: Number.NaN } }), TypeError, /^tables\.t\.sampler must be/],
    [table({ maxSize: 4, rateLimiter: "minSize" }), TypeError, /^tables\.t\.rateLimiter must be/, /"minSize"/],
  ];
  for (const [options, kind, ...says] of bad) {
    expectError(
      errorOf(() => new Replay(options as never)),
      kind,
      ...says,
    );
  }
  for (const exponent of [Number.NaN, Number.POSITIVE_INFINITY]) {
    expectError(
      errorOf(() => prioritized(exponent)),
      RangeError,
      /^exponent must be a finite/,
    );
  }
});

test("table throws NOT_FOUND for an unknown name, and lists the known names", () => {
  const replay = new Replay({ spec: f32(), tables: { a: { maxSize: 4 }, b: { maxSize: 4 } } });
  for (const name of ["c", "", "toString", undefined, 3])
    expectRefused(replay, () => replay.table(name as "a"), "NOT_FOUND", /^table (must be|is required:) one of "a", "b"/);
  const { a, b } = replay.tables;
  expect([a, b]).toEqual([replay.table("a"), replay.table("b")]);
  expect(Object.keys(replay.tables)).toEqual(["a", "b"]);
  expect(() => Object.assign(replay.tables, { c: a })).toThrow(TypeError);
});

test.each([
  ["a number", f32(), 1],
  ["800 bytes", f32(200), new Float32Array(200).fill(1)],
  ["an image", u8(84, 84), new Uint8Array(84 * 84).fill(1)],
])("plan returns a sufficient number of bytes: steps of %s", (_, spec, step) => {
  for (const maxSize of [1, 100, 1023, 3000]) {
    for (const sampler of [uniform(), prioritized(0.6)]) {
      const options = { spec, tables: { t: { maxSize, sampler } } };
      const { bytes } = Replay.plan(options);
      expectError(
        errorOf(() => new Replay({ ...options, maxBytes: bytes - 1 })),
        RangeError,
        new RegExp(`^maxBytes must be at least ${bytes}`),
      );
      const replay = new Replay({ ...options, maxBytes: bytes });
      const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
      for (let i = 0; i < 1.5 * maxSize; i++) writer.append(step as never);
      expect(replay.table("t").size).toBe(maxSize);
      expect(replay.table("t").sample(4).count).toBe(4);
      expect(replay.stats().bytes.used).toBeLessThanOrEqual(bytes);
    }
  }
});

test("plan returns the bytes per step, per item and per table", () => {
  const plan = Replay.plan({ spec: { a: f32(3), b: u8(2000) }, tables: { big: { maxSize: 1000 }, small: { maxSize: 10, maxSteps: 20 } } });
  expect(plan.bytesPerStep).toBe(12 + 12 + 2000);
  expect(plan.steps).toBe(1000);
  expect(plan.tables.big?.bytesPerItem).toBeGreaterThan(24);
  expect(plan.bytes - plan.touchedBytes).toBe(8 * 1010);
  expect(plan.bytes).toBeGreaterThan(1000 * 2028 + (plan.tables.big?.bytes ?? 0) + (plan.tables.small?.bytes ?? 0));
});

test("batches depend only on the seed and the calls", () => {
  const run = (seed: number | bigint, module?: WebAssembly.Module) => {
    const replay = new Replay({ spec: i32(), tables: { u: { maxSize: 50 }, p: { maxSize: 50, sampler: prioritized(0.7) } }, seed, module });
    const writer = replay.writer({
      items: [
        { table: "u", length: 2 },
        { table: "p", length: 3 },
      ],
    });
    const seen: unknown[] = [];
    for (let i = 0; i < 80; i++) {
      writer.append(i);
      if (i % 9 === 8) writer.endEpisode();
      const { table } = { table: replay.table(i % 2 ? "u" : "p") };
      const batch = table.sample(8, { offset: "uniform", length: 2 });
      seen.push(batch);
      table.updatePriorities(
        batch.info.keys.subarray(0, batch.count),
        batch.steps.data
          .filter((_, k) => k % 2 === 0)
          .map(Math.abs)
          .subarray(0, batch.count),
      );
    }
    return seen;
  };
  const first = run(7);
  expect(run(7)).toEqual(first);
  expect(run(7n)).toEqual(first);
  expect(run(7, moduleOf("scalar"))).toEqual(first);
  expect(run(8)).not.toEqual(first);
  expect(run(7n + 2n ** 32n)).not.toEqual(first);
});

test("tables of one Replay draw independently", () => {
  const replay = new Replay({ spec: i32(), tables: { a: { maxSize: 99 }, b: { maxSize: 99 } } });
  const writer = replay.writer({
    items: [
      { table: "a", length: 1 },
      { table: "b", length: 1 },
    ],
  });
  for (let i = 0; i < 99; i++) writer.append(i);
  const a = [...replay.table("a").sample(50).steps.data];
  expect([...replay.table("b").sample(50).steps.data]).not.toEqual(a);
  expect(replay.stats().steps).toBe(99);
});

test("every call throws CLOSED after dispose", async () => {
  const replay = new Replay({ spec: f32(2), tables: { t: { maxSize: 4, rateLimiter: minSize(1) } } });
  const writer = replay.writer();
  const { staged } = writer;
  writer.append([1, 2]);
  writer.createItem("t", { length: 1 });
  const table = replay.table("t");
  const dataset = table.dataset({ batchSize: 1 });
  const chunks = replay.snapshot()[Symbol.iterator]();
  chunks.next();
  replay.dispose();
  replay.dispose();
  replay[Symbol.dispose]();
  const calls = {
    table: () => replay.table("t"),
    writer: () => replay.writer(),
    stats: () => replay.stats(),
    size: () => table.size,
    sample: () => table.sample(1),
    dataset: () => table.dataset({ batchSize: 1 }),
    iterate: () => [...dataset],
    batch: () => table.batch(1, { length: 1 }),
    updatePriorities: () => table.updatePriorities([1], [1]),
    delete: () => table.delete([1]),
    clear: () => table.clear(),
    ready: () => table.ready(1),
    canSample: () => table.canSample(),
    canInsert: () => table.canInsert(),
    tableStats: () => table.stats(),
    explain: () => table.explain(1),
    append: () => writer.append([1, 2]),
    appendStaged: () => writer.append(),
    appendColumns: () => writer.appendColumns([[1, 2]]),
    createItem: () => writer.createItem("t", { length: 1 }),
    endEpisode: () => writer.endEpisode(),
    flush: () => writer.flush(),
    lastKey: () => writer.lastKey("t"),
    length: () => writer.length,
    episodeSteps: () => writer.episodeSteps,
    staged: () => writer.staged,
    snapshot: () => replay.snapshot(),
    chunks: () => chunks.next(),
  };
  for (const call of Object.values(calls)) expectError(errorOf(call), "CLOSED", /disposed of/);
  await expect(table.sampleWhenReady(1)).rejects.toMatchObject({ code: "CLOSED" });
  await expect(dataset[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "CLOSED" });
  writer.close();
  expect(() => staged.value).toThrow(/closed/);
});

test("without tables, writers keep steps only in their windows", () => {
  for (const tables of [undefined, {}, null]) {
    const replay = new Replay({ spec: { x: f32() }, tables: tables as never });
    const writer = replay.writer({ keep: 3 });
    for (let x = 0; x < 5; x++) writer.append({ x });
    expect([replay.stats().steps, writer.length, replay.tables]).toEqual([3, 3, {}]);
    expectRefused(replay, () => replay.table("t" as never), "NOT_FOUND", /^table must .*no tables, got "t"/);
  }
});
