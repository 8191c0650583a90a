/** Tests the messages for typical first mistakes in programs that are ported from PFRL. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  batchExperiences,
  EpisodicReplayBuffer,
  PersistentReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
} from "../../../src/pfrl/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const folder = mkdtempSync(join(tmpdir(), "pfrl-mistakes-"));
afterAll(() => rmSync(folder, { recursive: true }));
const step = (i: number, more: object = {}) => ({ state: [i, 0], action: i, reward: 1, nextState: [i + 1, 0], ...more });
const filled = (n = 4) => {
  const buffer = new ReplayBuffer();
  for (let i = 0; i < n; i++) buffer.append(step(i));
  return buffer;
};

describe("append accepts one object", () => {
  test.each<[string, unknown[]]>([
    ["numbers", [1, 0, 1]],
    ["typed arrays", [Float32Array.of(1, 2), 0, 1]],
    ["arrays", [[1, 2], 0, 1]],
    ["objects", [{ x: 1 }, 0, 1]],
    ["null", [null, 0, 1]],
  ])("and rejects positional state, action and reward: %s", (_, args) => {
    const rule = /append\(\{ state, action, reward, nextState, isStateTerminal, … \}\)/;
    for (const buffer of [new ReplayBuffer(), filled(), new EpisodicReplayBuffer(), new PersistentReplayBuffer(memory(), 9, { durability: "manual" })]) {
      const { length } = buffer;
      expectError(
        errorOf(() => (buffer.append as (...args: unknown[]) => void)(...args)),
        TypeError,
        rule,
      );
      expect([buffer.length, buffer.running().size]).toEqual([length, length === 0 ? 0 : 1]);
    }
  });
});

test.each(["done", "terminated", "terminal"])("rejects %s without isStateTerminal, and stores it as an extra next to isStateTerminal", (name) => {
  for (const buffer of [new ReplayBuffer(), filled()]) {
    const { length } = buffer;
    expectError(
      errorOf(() => buffer.append(step(9, { [name]: true }))),
      TypeError,
      new RegExp(`${name} must be renamed to isStateTerminal, got true\\. To store ${name} as an extra, also pass isStateTerminal`),
    );
    expect(buffer.length).toBe(length);
    buffer.append(step(9, { [name]: true, isStateTerminal: false }));
    expect([...buffer.items()].at(-1)?.[0]).toMatchObject({ [name]: true, isStateTerminal: false });
  }
});

test.each<[string, unknown]>([
  ["an array", [0, 1]],
  ["a typed array", Int32Array.of(3)],
])("envId rejects %s, and accepts an object that is passed again", (_, envId) => {
  for (const buffer of [new ReplayBuffer({ numSteps: 3 }), new EpisodicReplayBuffer()]) {
    for (const call of [() => buffer.append(step(0, { envId })), () => buffer.stopCurrentEpisode(envId)]) expectError(errorOf(call), TypeError, /envId must/);
    expect(buffer.running().size).toBe(0);
    const env = { of: "mine" };
    buffer.append(step(0, { envId: env }));
    buffer.append(step(1, { envId: env }));
    expect(buffer.running().get(env)?.length).toBe(2);
  }
});

test("save and load require the path of a file", () => {
  for (const buffer of [filled(), new PersistentReplayBuffer(memory(), 9, { durability: "manual" })])
    for (const file of [undefined, null, 3, "", {}])
      for (const call of [() => buffer.save(file as string), () => buffer.load(file as string)])
        expectError(errorOf(call), TypeError, /file (must be|is required:) the path of a file/);
});

describe("a path that cannot be a file", () => {
  const place = join(folder, "places");
  mkdirSync(join(place, "sub"), { recursive: true });
  writeFileSync(join(place, "file"), "no folder");

  test.each([
    ["sub", /places\/sub failed: it is a folder, not a file \(EISDIR\)$/],
    ["none/f", /saving to .*places\/none\/f failed: the directory .*places\/none does not exist \(ENOENT\)/],
    ["file/f", /places\/file failed: a part of the path is a file, not a folder \(ENOTDIR\)$/],
  ])("is rejected with its cause, and leaves nothing behind: %s", async (path, says) => {
    const buffer = filled();
    const file = join(place, path);
    expectError(
      errorOf(() => buffer.save(file)),
      "IO",
      says,
    );
    await expect(buffer.saveAsync(file)).rejects.toMatchObject({ code: "IO", message: expect.stringMatching(says) });
    expect(readdirSync(place).sort()).toEqual(["file", "sub"]);
  });

  test("load rejects a folder", () => {
    const says = /opening .*places\/sub failed: it is a folder, not a file \(EISDIR\)$/;
    expectError(
      errorOf(() => filled().load(join(place, "sub"))),
      "IO",
      says,
    );
  });

  test("a file that cannot be renamed leaves nothing behind", () => {
    const directory = memory();
    const rename = () => {
      throw Object.assign(new Error("busy"), { code: "EPERM" });
    };
    expectError(
      errorOf(() => filled().save({ directory: Object.assign(directory, { rename }), file: "f" })),
      "IO",
      /naming memory\/f failed: permission is denied \(EPERM\)/,
    );
    expect(directory.list()).toEqual([]);
  });
});

describe("loadAsync into a persistent buffer that is closed", () => {
  const file = join(folder, "to-load");

  test.each<[string, (load: (buffer: PersistentReplayBuffer) => Promise<void>, buffer: PersistentReplayBuffer) => Promise<void>]>([
    [
      "before",
      (load, buffer) => {
        buffer.close();
        return load(buffer);
      },
    ],
    [
      "meanwhile",
      (load, buffer) => {
        const loaded = load(buffer);
        buffer.close();
        return loaded;
      },
    ],
  ])("%s rejects with CLOSED, and changes nothing", async (_, closes) => {
    filled(5000).save(file);
    const directory = memory();
    const buffer = new PersistentReplayBuffer(directory, 9999, { durability: "manual" });
    buffer.append(step(7));
    await expect(closes((one) => one.loadAsync(file), buffer)).rejects.toMatchObject({ code: "CLOSED", message: expect.stringMatching(/^memory was closed/) });
    expect(buffer.length).toBe(1);
    const again = new PersistentReplayBuffer(directory, 9999, { durability: "manual" });
    expect([...again.items()].map(([item]) => item?.action)).toEqual([7]);
    // A closed buffer can still be saved.
    await buffer.saveAsync(file);
    await again.loadAsync(file);
    expect(again.length).toBe(1);
    again.close();
  });
});

test("iterating over a batch throws an error that suggests the list form", () => {
  const says = /a batch .*\{ form: "list" \}/;
  const buffer = filled();
  for (const batch of [buffer.sample(2), buffer.sample(2, { into: buffer.sample(2) })] as unknown as Iterable<unknown>[])
    for (const call of [() => [...batch], () => Array.from(batch), () => new Map(batch as never)]) expectError(errorOf(call), TypeError, says);
  const episodes = new EpisodicReplayBuffer();
  episodes.append(step(0, { isStateTerminal: true }));
  expectError(
    errorOf(() => [...(episodes.sampleEpisodes(1) as unknown as Iterable<unknown>)]),
    TypeError,
    says,
  );
  // The iterator that throws is not an enumerable property of the batch.
  expect(Object.keys(buffer.sample(1))).toEqual(Reflect.ownKeys({ ...buffer.sample(1) }));
  expect(structuredClone({ ...buffer.sample(1) }).count).toBe(1);
});

/** Blocks the thread for `ms` milliseconds. */
function spin(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

describe("two simultaneous saves to one file", () => {
  test.each<[string, () => { file: string | { directory: ReturnType<typeof memory>; file: string }; also: string }]>([
    ["a path", () => ({ file: join(folder, "twice"), also: join(folder, "other") })],
    ["a directory", () => ({ file: { directory: memory(), file: "f" }, also: join(folder, "other2") })],
  ])("the second throws OUT_OF_TURN, and the first completes: %s", async (_, make) => {
    const { file, also } = make();
    const buffer = filled(5000);
    // Even on a fast machine, the save takes several turns.
    const first = buffer.saveAsync(file, { onProgress: () => void spin(10) });
    const says = { code: "OUT_OF_TURN", message: expect.stringMatching(/is already being saved to/) };
    await expect(filled(3).saveAsync(file)).rejects.toMatchObject(says);
    expect(() => filled(3).save(file)).toThrow(expect.objectContaining(says));
    await filled(3).saveAsync(also);
    await first;
    const loaded = new ReplayBuffer();
    loaded.load(file);
    expect(loaded.length).toBe(5000);
    // After a save, and even after a cancelled one, the file can be saved again.
    const stop = new AbortController();
    const given = filled(5000).saveAsync(file, { signal: stop.signal, onProgress: () => stop.abort(new Error("enough")) });
    await expect(given).rejects.toThrow("enough");
    filled(3).save(file);
    loaded.load(file);
    expect(loaded.length).toBe(3);
  });
});

test("betaSteps may be Infinity, which keeps beta constant", () => {
  const makers = [(options: object) => new PrioritizedReplayBuffer(options), (options: object) => new PrioritizedEpisodicReplayBuffer(options)];
  for (const make of makers) {
    const buffer = make({ betaSteps: Number.POSITIVE_INFINITY, beta0: 0.5 });
    buffer.weightsFromProbabilities([0.5], 0.5);
    expect(buffer.beta).toBe(0.5);
    for (const betaSteps of [0, -1, Number.NaN, Number.NEGATIVE_INFINITY])
      expectError(
        errorOf(() => make({ betaSteps })),
        RangeError,
        /betaSteps must/,
      );
    expectError(
      errorOf(() => make({ betaSteps: "many" })),
      TypeError,
      /betaSteps/,
    );
  }
});

test("phi receives a state in the form in which it was appended", () => {
  const frames = (i: number) => Array.from({ length: 4 }, (_, k) => new Uint8Array(80).fill(i + k));
  const forms: readonly [unknown, unknown][] = [
    [frames(1), frames(2)],
    [
      [
        [1, 2],
        [3, 4],
      ],
      [
        [5, 6],
        [7, 8],
      ],
    ],
    [Float32Array.of(1, 2), Float32Array.of(3, 4)],
    [
      { image: frames(3), seen: true, place: [1, 2] },
      { image: frames(4), seen: false, place: [3, 4] },
    ],
    [1.5, 2.5],
    [true, false],
    ["north", "south"],
  ];
  for (const [state, nextState] of forms) {
    const buffer = new ReplayBuffer();
    buffer.append({ state, action: 0, reward: 0, nextState });
    const seen: unknown[] = [];
    const phi = (one: unknown) => {
      seen.push(one);
      return 0;
    };
    batchExperiences(buffer.sample(1), { gamma: 1, phi });
    expect(seen).toEqual([state, nextState]);
  }
});
