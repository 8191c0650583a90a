/** Tests buffers that are stored in a directory. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { EpisodicReplayBuffer, PersistentEpisodicReplayBuffer, PersistentReplayBuffer, type Progress, ReplayBuffer } from "../../../src/pfrl/index.ts";
import { type Directory, type MemoryDirectory, memory, node } from "../../../src/storage/index.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled, some, stride } from "../../support/size.ts";

const STEPS = scaled(600, 60);
const LIST = { form: "list" } as const;
const folder = mkdtempSync(join(tmpdir(), "pfrl-persistent-"));
afterAll(() => rmSync(folder, { recursive: true }));
let directories = 0;
const fresh = () => join(folder, `d${directories++}`);

/** Options without automatic writes, so no timers remain. */
const MANUAL = { durability: "manual" } as const;
const FORMS: { readonly [form: string]: (i: number) => unknown } = {
  numbers: (i) => i,
  words: (i) => `s${i}`,
  frames: (i) => Array.from({ length: 4 }, (_, k) => new Uint8Array(80).fill((i + k) & 0xff)),
};
const step = (i: number, { form = "words", terminal = false, env = 0 as unknown } = {}) => {
  const state = FORMS[form] as (i: number) => unknown;
  return { state: state(i), action: i, reward: i / 4, nextState: state(i + 1), isStateTerminal: terminal, envId: env };
};
const actions = (buffer: { items(): Iterable<unknown> }) => [...buffer.items()].flat().map((one) => (one as { action: number }).action);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe.each(some(Object.keys(FORMS), 1))("a persistent buffer of states that are %s", (form) => {
  test("continues after a reopening with the draws of a buffer that was never closed", () => {
    const directory = fresh();
    const random = new TestRandom(5);
    const twin = new ReplayBuffer(40, { seed: 8 });
    let buffer = new PersistentReplayBuffer(directory, 40, { ...MANUAL, seed: 8, segmentBytes: 4096 });
    let all = 0;
    for (let i = 0; i < STEPS; i++) {
      const transition = step(i, { form, terminal: random.next() < 0.1, env: random.below(3) });
      const stops = random.next() < 0.05;
      for (const one of [twin, buffer]) {
        one.append(transition);
        if (stops) one.stopCurrentEpisode(1);
      }
      all++;
      if (random.next() < 0.3) expect(buffer.sample(Math.min(all, 5), LIST)).toEqual(twin.sample(Math.min(all, 5), LIST));
      if (random.next() < 0.03) {
        buffer.close();
        // The seed differs, but the random state is restored from the log.
        buffer = new PersistentReplayBuffer(directory, 40, { ...MANUAL, seed: 77, segmentBytes: 4096 });
      }
    }
    buffer.close();
    const reopened = new PersistentReplayBuffer(directory, 40, MANUAL);
    expect([...reopened.items()]).toEqual([...twin.items()]);
    for (let i = 0; i < STEPS; i++) expect([...reopened.sample(7).keys].length).toBe(7);
    for (let i = 0; i < STEPS; i++) twin.sample(7);
    expect(reopened.sample(20, LIST)).toEqual(twin.sample(20, LIST));
    reopened.close();
    // A buffer with unlimited capacity contains all items.
    const whole = new PersistentReplayBuffer(directory, null, MANUAL);
    expect(actions(whole)).toEqual(range(0, STEPS));
    whole.close();
    const few = new PersistentReplayBuffer(directory, { capacity: 3, ...MANUAL });
    expect(actions(few)).toEqual(range(STEPS - 3, STEPS));
    few.close();
  });

  test("continues after a reopening with the episodes and draws of a buffer that was never closed", () => {
    const directory = fresh();
    const random = new TestRandom(6);
    const twin = new EpisodicReplayBuffer(60, { seed: 8 });
    let buffer = new PersistentEpisodicReplayBuffer(directory, 60, { ...MANUAL, seed: 8, segmentBytes: 4096 });
    let episodes = 0;
    for (let i = 0; i < scaled(400, 50); i++) {
      const terminal = random.next() < 0.15;
      if (terminal) episodes++;
      for (const one of [twin, buffer]) one.append(step(i, { form, terminal }));
      if (!terminal) continue;
      const n = Math.min(buffer.nEpisodes, 2);
      expect(buffer.sampleEpisodes(n, 3, LIST)).toEqual(twin.sampleEpisodes(n, 3, LIST));
      expect(buffer.sample(n, LIST)).toEqual(twin.sample(n, LIST));
      if (random.next() < 0.2) {
        buffer.close();
        buffer = new PersistentEpisodicReplayBuffer(directory, 60, MANUAL);
      }
    }
    expect([...buffer.episodes()]).toEqual([...twin.episodes()]);
    expect(actions(buffer)).toEqual(actions(twin));
    buffer.close();
    const whole = new PersistentEpisodicReplayBuffer(directory, null, MANUAL);
    expect(whole.nEpisodes).toBe(episodes);
    whole.close();
  });
});

describe("a crash", () => {
  test.each([
    ["transitions", (directory: Directory) => new PersistentReplayBuffer(directory, 20, { ...MANUAL, segmentBytes: 3000 })],
    ["episodes", (directory: Directory) => new PersistentEpisodicReplayBuffer(directory, 20, { ...MANUAL, segmentBytes: 3000 })],
  ] as const)("leaves a prefix that contains all flushed steps: %s", async (_, open) => {
    const directory = memory();
    const buffer = open(directory);
    let flushed = 0;
    const written: number[] = [];
    for (let i = 0; i < 200; i++) {
      buffer.append(step(i, { terminal: true }));
      written.push(i);
      if (i % 50 === 49) {
        await buffer.flush();
        flushed = written.length;
      }
      if (i % stride(7) !== 0) continue;
      for (let bytes = 0; bytes <= directory.unsynced; bytes += stride(97, 997)) {
        const reopened = open(directory.crash(bytes));
        const found = actions(reopened);
        const last = found.at(-1) ?? -1;
        expect(last + 1).toBeGreaterThanOrEqual(flushed);
        expect(last).toBeLessThanOrEqual(i);
        expect(found).toEqual(range(Math.max(0, last + 1 - 20), last + 1));
        reopened.append(step(1000, { terminal: true }));
        expect(actions(reopened).at(-1)).toBe(1000);
        reopened.close();
      }
    }
    buffer.close();
  });

  test("loses no appended step if durability is always", () => {
    const directory = memory();
    const buffer = new PersistentReplayBuffer(directory, 20, { durability: "always" });
    for (let i = 0; i < 10; i++) {
      buffer.append(step(i));
      expect(actions(new PersistentReplayBuffer(directory.crash(), 20, MANUAL))).toEqual(range(0, i + 1));
    }
  });
});

describe("a full disk", () => {
  test("keeps appended steps in memory, and receives them when there is space", async () => {
    let full = false;
    const directory: MemoryDirectory = memory({ fault: ({ kind }) => (full && kind === "write" ? { code: "ENOSPC", bytes: 10 } : undefined) });
    const buffer = new PersistentReplayBuffer(directory, 20, MANUAL);
    buffer.append(step(0));
    await buffer.flush();
    full = true;
    buffer.append(step(1));
    await expect(buffer.flush()).rejects.toMatchObject({ code: "IO" });
    buffer.append(step(2));
    expect(actions(buffer)).toEqual([0, 1, 2]);
    full = false;
    await buffer.flush();
    expect(actions(new PersistentReplayBuffer(directory.crash(), 20, MANUAL))).toEqual([0, 1, 2]);
  });
});

describe("retain", () => {
  test("capacity removes segments whose items were evicted", () => {
    const directory = memory();
    const options = { ...MANUAL, retain: "capacity", segmentBytes: 2000 } as const;
    const buffer = new PersistentReplayBuffer(directory, 30, options);
    let max = 0;
    for (let i = 0; i < 3000; i++) {
      buffer.append(step(i, { terminal: i % 10 === 9 }));
      if (i % 100 === 99) max = Math.max(max, directory.list().length);
    }
    buffer.close();
    expect(max).toBeLessThan(8);
    const reopened = new PersistentReplayBuffer(directory, 1000, options);
    const found = actions(reopened);
    expect(found.slice(-30)).toEqual(range(2970, 3000));
    expect(found).toEqual(range(3000 - found.length, 3000));
    expect(found.length).toBeLessThan(100);
    reopened.close();
  });

  test("capacity removes segments of evicted episodes, including after reopenings", () => {
    const directory = memory();
    const options = { ...MANUAL, retain: "capacity", segmentBytes: 2000 } as const;
    for (let session = 0; session < 20; session++) {
      const buffer = new PersistentEpisodicReplayBuffer(directory, 30, options);
      for (let i = 0; i < 100; i++) buffer.append(step(100 * session + i, { terminal: i % 5 === 4 }));
      buffer.close();
    }
    expect(directory.list().length).toBeLessThan(8);
    const last = new PersistentEpisodicReplayBuffer(directory, 30, options);
    expect(actions(last)).toEqual(range(1970, 2000));
    last.close();
  });
});

describe("ancestors", () => {
  const written = (directory: Directory | string, from: number, to: number, options: object = {}) => {
    const buffer = new PersistentReplayBuffer(directory, 100, { ...MANUAL, ...options });
    for (let i = from; i < to; i++) buffer.append(step(i));
    buffer.close();
  };

  test("are read before the directory's own items, oldest first, and never written", () => {
    const [grand, parent, child] = [fresh(), fresh(), fresh()];
    written(grand, 0, 4);
    written(parent, 4, 7, { ancestor: grand });
    const before = [grand, parent].map((path) => readdirSync(path));
    const buffer = new PersistentReplayBuffer(child, 5, { ...MANUAL, ancestor: parent });
    expect(actions(buffer)).toEqual(range(2, 7));
    buffer.append(step(7));
    expect(actions(buffer)).toEqual(range(3, 8));
    buffer.close();
    expect([grand, parent].map((path) => readdirSync(path))).toEqual(before);
    const alone = new PersistentReplayBuffer(child, 5, MANUAL);
    expect(actions(alone)).toEqual([7]);
    alone.close();
    const again = new PersistentReplayBuffer(child, null, { ...MANUAL, ancestor: node(parent) });
    expect(actions(again)).toEqual(range(0, 8));
    again.close();
  });

  test("must exist, have the same family and spec, and form no circle", () => {
    const [own, other] = [memory(), memory()];
    expectError(
      errorOf(() => new PersistentReplayBuffer(memory(), 5, { ancestor: memory() })),
      "NOT_FOUND",
      /ancestor/,
    );
    expectError(
      errorOf(() => new PersistentReplayBuffer(fresh(), 5, { ancestor: join(folder, "nowhere") })),
      "NOT_FOUND",
    );
    new PersistentEpisodicReplayBuffer(other, 5, MANUAL).close();
    expectError(
      errorOf(() => new PersistentReplayBuffer(memory(), 5, { ancestor: other })),
      "SPEC_MISMATCH",
      /must contain transitions, got episodes/,
    );
    expectError(
      errorOf(() => new PersistentReplayBuffer(other, 5, MANUAL)),
      "SPEC_MISMATCH",
    );
    const path = fresh();
    expectError(
      errorOf(() => new PersistentReplayBuffer(path, 5, { ancestor: path })),
      RangeError,
      /that is not among its own ancestors/,
    );
    written(own, 0, 2);
    const child = memory();
    const buffer = new PersistentReplayBuffer(child, 5, MANUAL);
    buffer.append({ state: 1, action: 1, reward: 1 });
    buffer.close();
    expectError(
      errorOf(() => new PersistentReplayBuffer(child, 5, { ...MANUAL, ancestor: own })),
      "SPEC_MISMATCH",
      /must have the spec/,
    );
    const unbounded = new PersistentReplayBuffer(memory(), null, { ...MANUAL, ancestor: own });
    expect(actions(unbounded)).toEqual([0, 1]);
    unbounded.close();
  });
});

test("save writes a snapshot, and load replaces the content of the directory", () => {
  const [directory, files] = [memory(), memory()];
  const buffer = new PersistentReplayBuffer(directory, 10, MANUAL);
  for (let i = 0; i < 5; i++) buffer.append(step(i));
  buffer.save({ directory: files, file: "f" });
  for (let i = 5; i < 9; i++) buffer.append(step(i));
  buffer.load({ directory: files, file: "f" });
  buffer.append(step(20));
  const [next] = [buffer.sample(3, LIST)];
  buffer.close();
  const reopened = new PersistentReplayBuffer(directory, 10, MANUAL);
  expect(actions(reopened)).toEqual([...range(0, 5), 20]);
  expect(next.length).toBe(3);
  reopened.close();
  const plain = new ReplayBuffer();
  plain.load({ directory: files, file: "f" });
  expect(actions(plain)).toEqual(range(0, 5));
  const episodes = new PersistentEpisodicReplayBuffer(memory(), 10, MANUAL);
  for (let i = 0; i < 6; i++) episodes.append(step(i, { terminal: i % 2 === 1 }));
  episodes.save({ directory: files, file: "e" });
  episodes.append(step(9, { terminal: true }));
  episodes.load({ directory: files, file: "e" });
  expect(episodes.nEpisodes).toBe(3);
  episodes.close();
});

test("a buffer that is closed or taken over can still be sampled, but rejects changes", () => {
  const directory = memory();
  const buffer = new PersistentReplayBuffer(directory, 10, MANUAL);
  buffer.append(step(0));
  buffer.append(step(1));
  const other = new PersistentReplayBuffer(directory, 10, MANUAL);
  expect(actions(other)).toEqual([0, 1]);
  const episodes = new PersistentEpisodicReplayBuffer(memory(), 10, MANUAL);
  episodes.append(step(0));
  episodes.close();
  // The closed buffer is only an in-memory buffer.
  episodes.append(step(1));
  expect(episodes.running().get(0)?.length).toBe(2);
  for (const call of [
    () => buffer.append(step(2)),
    () => buffer.load({ directory, file: "x" }),
    () => episodes.append(step(2, { terminal: true })),
    () => episodes.stopCurrentEpisode(),
  ])
    expectError(errorOf(call), "CLOSED", /closed, or another buffer has opened it/);
  expect([buffer.sample(2).count, buffer.length]).toEqual([2, 2]);
  buffer.close();
  other.close();
  other.close();
  expectError(
    errorOf(() => other.append(step(2))),
    "CLOSED",
  );
  other.save({ directory: memory(), file: "f" });
});

test("a rejected step is not written to the log", () => {
  const directory = memory();
  const buffer = new PersistentReplayBuffer(directory, 10, MANUAL);
  buffer.append({ state: [1, 2], action: 0, reward: 0 });
  expectError(
    errorOf(() => buffer.append({ state: [1], action: 0, reward: 0 })),
    "SPEC_MISMATCH",
  );
  buffer.append({ state: [3, 4], action: 1, reward: 0 });
  buffer.close();
  const reopened = new PersistentReplayBuffer(directory, 10, MANUAL);
  expect(actions(reopened)).toEqual([0, 1]);
  reopened.close();
});

test("a logger receives the numbers of loaded and excess items, and warnings about repairs", () => {
  const directory = memory();
  const buffer = new PersistentReplayBuffer(directory, 10, MANUAL);
  for (let i = 0; i < 8; i++) buffer.append(step(i));
  buffer.close();
  const told: string[] = [];
  const logger = { info: (text: string) => told.push(`info ${text}`), warn: (text: string) => told.push(`warn ${text}`) };
  new PersistentReplayBuffer(directory, 3, { ...MANUAL, logger }).close();
  expect(told).toEqual([expect.stringMatching(/^info .*8 transitions; 5 of them exceed the capacity/)]);
  told.length = 0;
  const [[name, bytes] = ["", new Uint8Array(0)]] = directory.files();
  const torn = memory({ files: [[name, bytes.slice(0, bytes.length - 5)]] });
  new PersistentReplayBuffer(torn, 30, { ...MANUAL, logger }).close();
  expect(told).toEqual([expect.stringMatching(/^warn /), expect.stringMatching(/^info .*7 transitions$/)]);
  expectError(
    errorOf(() => new PersistentReplayBuffer(memory(), 3, { logger: {} as never })),
    TypeError,
    /logger must .*\(such as console\)/,
  );
});

describe("asynchronous open", () => {
  test("reports its progress, and can be aborted", async () => {
    const directory = memory();
    const buffer = new PersistentReplayBuffer(directory, null, { ...MANUAL, segmentBytes: 1 << 20 });
    for (let i = 0; i < 1000; i++) buffer.append({ state: new Float64Array(500).fill(i + 1), action: i, reward: 0 });
    buffer.close();
    const seen: Progress[] = [];
    const opened = await PersistentReplayBuffer.open(directory, 10, { ...MANUAL, onProgress: (progress) => seen.push(progress) });
    expect([opened.length, seen.length > 3, seen.at(-1)?.done]).toEqual([10, true, seen.at(-1)?.of]);
    opened.close();
    const stop = new AbortController();
    const given = PersistentReplayBuffer.open(directory, 10, { ...MANUAL, signal: stop.signal, onProgress: () => stop.abort(new Error("enough")) });
    await expect(given).rejects.toThrow("enough");
    const episodes = await PersistentEpisodicReplayBuffer.open(memory(), 10, MANUAL);
    expect(episodes.length).toBe(0);
    episodes.close();
  });
});

test.each<[string, () => unknown, Parameters<typeof expectError>[1], RegExp]>([
  ["no directory", () => new PersistentReplayBuffer(3 as never, 5), TypeError, /dirname must/],
  ["a capacity of 0", () => new PersistentReplayBuffer(memory(), 0), RangeError, /capacity must be an integer in 1 … \d+/],
  ["another retain", () => new PersistentReplayBuffer(memory(), 5, { retain: "some" as never }), RangeError, /retain must be "capacity" or "all"/],
  ["an unknown option", () => new PersistentReplayBuffer(memory(), 5, { path: 1 } as never), TypeError, /no option "path"/],
  ["too many arguments", () => new PersistentReplayBuffer(memory(), 5, 6 as never), TypeError, /a directory, a capacity and an object/],
])("rejects %s", (_, call, kind, says) => expectError(errorOf(call), kind, says));
