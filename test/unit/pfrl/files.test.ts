/** Tests saving and loading PFRL buffers. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { CLEAR, FORM, ITEM, SINGLE, STATE } from "../../../src/base/kinds.ts";
import { f64 } from "../../../src/index.ts";
import {
  EpisodicReplayBuffer,
  object,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  type Progress,
  ReplayBuffer,
} from "../../../src/pfrl/index.ts";
import { encodeTagged, Log, memory } from "../../../src/storage/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled, stride, whole } from "../../support/size.ts";

const LIST = { form: "list" } as const;
const folder = mkdtempSync(join(tmpdir(), "pfrl-files-"));
afterAll(() => rmSync(folder, { recursive: true }));

const step = (i: number, isStateTerminal = false) => ({ state: `s${i}`, action: i, reward: i, nextState: `s${i + 1}`, isStateTerminal });
const fill = <B extends { append(transition: ReturnType<typeof step>): void }>(buffer: B, n: number, length = n): B => {
  for (let i = 0; i < n; i++) buffer.append(step(i, i % length === length - 1));
  return buffer;
};
const actions = (buffer: ReplayBuffer | PrioritizedReplayBuffer) => [...buffer.items()].map((item) => item.map(({ action }) => action));

test("save writes only the file at its path, and replaces an existing file", () => {
  const path = join(folder, "buffer.rpr");
  fill(new ReplayBuffer({ numSteps: 2 }), 5).save(path);
  expect(readdirSync(folder)).toEqual(["buffer.rpr"]);
  const buffer = new ReplayBuffer();
  buffer.load(path);
  expect(actions(buffer)).toEqual([[0, 1], [1, 2], [2, 3], [3, 4], [4]]);
  // This call replaces the existing file.
  fill(new ReplayBuffer(), 2).save(path);
  buffer.load(path);
  expect(actions(buffer)).toEqual([[0], [1]]);
});

test("load rejects missing files, invalid paths and other kinds of buffers, and changes nothing", () => {
  const directory = memory();
  const buffer = fill(new ReplayBuffer(), 3);
  const refuse = (file: object | string, kind: Parameters<typeof expectError>[1], ...says: RegExp[]) => {
    expectError(
      errorOf(() => buffer.load(file as string)),
      kind,
      ...says,
    );
    expect(actions(buffer)).toEqual([[0], [1], [2]]);
  };
  refuse(join(folder, "nowhere"), "NOT_FOUND", /nowhere/);
  refuse(join(folder, "no", "folder", "f"), "NOT_FOUND");
  refuse({ directory, file: "f" }, "NOT_FOUND");
  refuse("", TypeError, /file must be the path/);
  refuse({ directory }, TypeError);
  fill(new EpisodicReplayBuffer(), 2).save({ directory, file: "episodes" });
  refuse({ directory, file: "episodes" }, "SPEC_MISMATCH", /must contain transitions, got episodes/);
  const numbers = new ReplayBuffer();
  numbers.append({ state: 1, action: 1, reward: 1 });
  numbers.save({ directory, file: "numbers" });
  buffer.append(step(9));
  expectError(
    errorOf(() => buffer.load({ directory, file: "numbers" })),
    "SPEC_MISMATCH",
    /must have the spec/,
  );
  expect(buffer.running().size).toBe(1);
  // If no episode is running, the buffer adopts the spec of the file.
  buffer.stopCurrentEpisode();
  buffer.load({ directory, file: "numbers" });
  expect([...buffer.items()]).toEqual([[expect.objectContaining({ state: 1 })]]);
  expect(buffer.sample(1).state.data[0]).toBe(1);
});

test("load rejects a file with any altered byte or any cut", () => {
  const directory = memory();
  fill(new PrioritizedReplayBuffer({ numSteps: 2 }), 4).save({ directory, file: "f" });
  const bytes = directory.files().get("f") as Uint8Array;
  const refused = (altered: Uint8Array) => {
    const buffer = new PrioritizedReplayBuffer();
    const error = errorOf(() => buffer.load({ directory: memory({ files: [["f", altered]] }), file: "f" }));
    expect((error as { code?: string }).code, error.stack).toMatch(/CORRUPT|UNSUPPORTED|INVALID_DATA/);
    expect(buffer.length).toBe(0);
  };
  for (let i = 0; i < bytes.length; i += stride(3)) {
    refused(bytes.slice(0, i));
    const altered = bytes.slice();
    (altered[i] as number) ^= 1 << (i % 8);
    altered[i] = (bytes[i] as number) ^ (1 << (i % 8));
    refused(altered);
  }
});

test.runIf(whole)("load reads more items, and longer episodes, than are read at a time", () => {
  const directory = memory();
  const n = 2500;
  const all = Array.from({ length: n }, (_, i) => i);
  const step = (action: number, isStateTerminal: boolean) => ({ state: 0, action, reward: 0, nextState: 0, isStateTerminal });
  const [from, to] = [new ReplayBuffer(), new ReplayBuffer()];
  const [fromWhole, toWhole] = [new EpisodicReplayBuffer(), new EpisodicReplayBuffer()];
  for (const i of all) for (const buffer of [from, fromWhole]) buffer.append(step(i, i === n - 1));
  from.save({ directory, file: "items" });
  to.load({ directory, file: "items" });
  expect(actions(to).flat()).toEqual(all);
  fromWhole.save({ directory, file: "episodes" });
  toWhole.load({ directory, file: "episodes" });
  expect([...toWhole.episodes()].map((episode) => episode.map(({ action }) => action))).toEqual([all]);
  expect([...toWhole.items()].map(([one]) => one?.action)).toEqual(all);
});

/** Returns a file with the given sections and right checksums. */
function fileOf(sections: readonly (readonly [kind: number, payload: Uint8Array])[]) {
  const directory = memory();
  const log = Log.open(directory, { about: { reprise: "pfrl", version: 2 }, durability: "manual" });
  for (const [kind, payload] of sections) log.write(kind, 0, payload);
  log.commit();
  log.flush();
  log.close();
  const [bytes] = [...directory.files().values()];
  return { directory: memory({ files: [["f", bytes as Uint8Array]] }), file: "f" };
}

describe("load rejects sections that do not belong together, and changes nothing:", () => {
  const spec = { state: object(), action: f64(), reward: f64(), extras: {}, inferred: true };
  const form = (family: string, numSteps: number) => [FORM, encodeTagged({ family, numSteps, spec }, "form")] as const;
  const nothing = new Uint8Array(0);
  test.each([
    ["transitions of no step", [form("transitions", 0)]],
    ["transitions with a negative number of steps", [form("transitions", -1)]],
    ["transitions of more steps than an item may have", [form("transitions", 2 ** 24)]],
    ["episodes of a number of steps", [form("episodes", 3)]],
    ["steps without their form", [[SINGLE, nothing]]],
    ["steps without their form, after a clear", [[CLEAR, nothing], [SINGLE, nothing]]], // biome-ignore format: one line
    ["an item without an episode", [form("transitions", 1), [ITEM, new Uint8Array(16)]]],
  ] as const)("%s", (_, sections) => {
    const buffer = fill(new ReplayBuffer(), 3);
    expectError(
      errorOf(() => buffer.load(fileOf(sections))),
      "CORRUPT",
    );
    expect(actions(buffer)).toEqual([[0], [1], [2]]);
    buffer.load(fileOf([form("transitions", 1), [STATE, encodeTagged({ count: 0, random: new Uint8Array(32) }, "state")]]));
    expect(buffer.length).toBe(0);
  });
});

test("a loaded buffer continues with the draws of the saved one, even after evictions", () => {
  const directory = memory();
  const original = new PrioritizedReplayBuffer(10, { seed: 3, eps: 0.001 });
  fill(original, 27);
  for (let i = 0; i < 10; i++) {
    original.sample(4);
    original.updateErrors([0.9, 0.1, i / 10, 0.5]);
  }
  original.save({ directory, file: "f" });
  const loaded = new PrioritizedReplayBuffer(10, { seed: 99, eps: 0.001, beta0: original.beta });
  loaded.load({ directory, file: "f" });
  for (let i = 0; i < 200; i++) {
    expect(loaded.sample(3, LIST)).toEqual(original.sample(3, LIST));
    for (const buffer of [original, loaded]) {
      buffer.updateErrors([i / 200, 0.3, 0.7]);
      if (i % 3 === 0) buffer.append(step(100 + i));
    }
  }
});

test("a saved buffer keeps its waiting sample, so errors reach the same items", () => {
  const directory = memory();
  const original = fill(new PrioritizedReplayBuffer(4, { seed: 1 }), 4);
  const keys = original.sample(3).keys.slice();
  const before = original.priorities().keys;
  const places = [...keys].map((key) => before.indexOf(key));
  // The oldest item is evicted while the sample is waiting for its errors.
  original.append(step(9));
  original.save({ directory, file: "f" });
  const loaded = new PrioritizedReplayBuffer(4);
  loaded.load({ directory, file: "f" });
  expect(loaded.waiting).toBe(true);
  expectError(
    errorOf(() => loaded.sample(1)),
    "OUT_OF_TURN",
  );
  const found = loaded.updateErrors([0.1, 0.2, 0.3]);
  expect(found).toBe(places.includes(0) ? 2 : 3);
  const { priorities } = loaded.priorities();
  places.forEach((place, i) => {
    if (place > 0) expect(priorities[place - 1]).toBeCloseTo((0.1 * (i + 1) + 0.01) ** 0.6, 12);
  });
});

test("the capacity of the loading buffer applies from the next item on", () => {
  const directory = memory();
  fill(new ReplayBuffer(), 50).save({ directory, file: "f" });
  const small = new ReplayBuffer(5);
  small.load({ directory, file: "f" });
  expect(small.length).toBe(50);
  small.append(step(70));
  expect(actions(small)).toEqual([[46], [47], [48], [49], [70]]);
  fill(small, 500);
  expect([small.length, small.sample(5).count]).toEqual([5, 5]);
  const none = new ReplayBuffer(0);
  none.load({ directory, file: "f" });
  none.append(step(1));
  expect(none.length).toBe(0);
  const large = new ReplayBuffer(1000);
  large.load({ directory, file: "f" });
  fill(large, 2000);
  expect(large.length).toBe(1000);
});

test("prioritized and uniform buffers load each other's files, also for episodes", () => {
  const directory = memory();
  fill(new ReplayBuffer(), 3).save({ directory, file: "uniform" });
  const prioritized = new PrioritizedReplayBuffer();
  prioritized.load({ directory, file: "uniform" });
  expect([...prioritized.priorities().priorities]).toEqual([1, 1, 1]);
  prioritized.save({ directory, file: "prioritized" });
  const uniform = new ReplayBuffer();
  uniform.load({ directory, file: "prioritized" });
  expect(actions(uniform)).toEqual([[0], [1], [2]]);
  // The file contains transitions whose episode has been evicted.
  fill(new PrioritizedEpisodicReplayBuffer(4), 6, 3).save({ directory, file: "episodes" });
  const both = [new PrioritizedEpisodicReplayBuffer(), new EpisodicReplayBuffer()] as const;
  for (const buffer of both) buffer.load({ directory, file: "episodes" });
  expect(both.map(({ length, nEpisodes }) => [length, nEpisodes])).toEqual([
    [4, 1],
    [3, 1],
  ]);
});

test("an empty buffer can be saved, and loading it empties another buffer", () => {
  const directory = memory();
  new ReplayBuffer().save({ directory, file: "f" });
  for (const buffer of [new ReplayBuffer(), fill(new ReplayBuffer(), 3)]) {
    buffer.load({ directory, file: "f" });
    expect(buffer.length).toBe(0);
    expect(fill(buffer, 2).length).toBe(2);
  }
});

describe("saveAsync and loadAsync", () => {
  const MANY = scaled(5000, 1200);
  const frames = (n: number) => {
    const buffer = new ReplayBuffer(n);
    for (let i = 0; i < n; i++) buffer.append({ state: new Float64Array(500).fill(i), action: i, reward: 0 });
    return buffer;
  };

  test("report their progress, and write the same file as save", async () => {
    const directory = memory();
    const buffer = frames(MANY);
    const seen: Progress[] = [];
    await buffer.saveAsync({ directory, file: "f" }, { onProgress: (progress) => seen.push(progress) });
    buffer.save({ directory, file: "g" });
    const [f, g] = ["f", "g"].map((file) => Buffer.from(directory.files().get(file) as Uint8Array));
    expect(f?.equals(g as Buffer)).toBe(true);
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.every(({ done, of }) => done <= of)).toBe(true);
    const loaded = new ReplayBuffer();
    const read: Progress[] = [];
    await loaded.loadAsync({ directory, file: "f" }, { onProgress: (progress) => read.push(progress) });
    expect([loaded.length, read.length > 3, read.at(-1)?.done]).toEqual([MANY, true, read.at(-1)?.of]);
  });

  test.runIf(whole)("can be aborted, and leave the existing file and the buffer unchanged", async () => {
    const directory = memory();
    fill(new ReplayBuffer(), 2).save({ directory, file: "f" });
    const before = directory.files().get("f");
    const buffer = frames(MANY);
    const stop = new AbortController();
    const saving = buffer.saveAsync({ directory, file: "f" }, { signal: stop.signal, onProgress: () => stop.abort(new Error("enough")) });
    await expect(saving).rejects.toThrow("enough");
    expect([...directory.files()]).toEqual([["f", before]]);
    await expect(buffer.saveAsync({ directory, file: "f" }, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
    buffer.save({ directory, file: "large" });
    const reader = frames(3);
    const end = new AbortController();
    const { bytes } = reader;
    await expect(reader.loadAsync({ directory, file: "large" }, { signal: end.signal, onProgress: () => end.abort(new Error("enough")) })).rejects.toThrow(
      "enough",
    );
    expect(actions(reader)).toEqual([[0], [1], [2]]);
    // Aborted and earlier loads release their memory, so further loads reuse it.
    for (let i = 0; i < 3; i++) reader.load({ directory, file: "large" });
    expect(reader.length).toBe(MANY);
    expect(reader.bytes).toBeLessThan(3 * MANY * 4096 + bytes);
  });

  test("saveAsync rejects if the buffer changes during the save", async () => {
    const directory = memory();
    const buffer = frames(MANY);
    const saving = buffer.saveAsync({ directory, file: "f" }, { onProgress: () => buffer.append({ state: new Float64Array(500), action: 0, reward: 0 }) });
    await expect(saving).rejects.toMatchObject({ code: "OUT_OF_TURN" });
    expect(directory.list()).toEqual([]);
  });
});

test("a save on a full disk leaves the existing file unchanged", () => {
  const old = memory();
  fill(new ReplayBuffer(), 2).save({ directory: old, file: "f" });
  const directory = memory({ files: old.files(), fault: ({ kind, file }) => (kind === "write" && file.endsWith(".part") ? { code: "ENOSPC" } : undefined) });
  expectError(
    errorOf(() => fill(new ReplayBuffer(), 9).save({ directory, file: "f" })),
    "IO",
    /ENOSPC|no space/i,
  );
  const buffer = new ReplayBuffer();
  buffer.load({ directory, file: "f" });
  expect(buffer.length).toBe(2);
});

test("load uses the complete file if a save was cut while it replaced the file", () => {
  const directory = memory();
  fill(new ReplayBuffer(), 2).save({ directory, file: "f" });
  fill(new ReplayBuffer(), 5).save({ directory, file: "g" });
  const whole = directory.files().get("g") as Uint8Array;
  const cut = memory({
    files: [
      ["f", whole.slice(0, 100)],
      ["f.part", whole],
    ],
  });
  const buffer = new ReplayBuffer();
  buffer.load({ directory: cut, file: "f" });
  expect(buffer.length).toBe(5);
  const unfinished = memory({
    files: [
      ["f", directory.files().get("f") as Uint8Array],
      ["f.part", whole.slice(0, 100)],
    ],
  });
  buffer.load({ directory: unfinished, file: "f" });
  expect(buffer.length).toBe(2);
  expect(existsSync(join(folder, "buffer.rpr.part"))).toBe(false);
});
