/** Tests that a directory can be reopened after any sequence of calls. */
import { describe, expect, test } from "vitest";
import { RANDOM } from "../../../src/base/kinds.ts";
import { PersistentEpisodicReplayBuffer, PersistentReplayBuffer, ReplayBuffer } from "../../../src/pfrl/index.ts";
import { type Directory, Log, memory } from "../../../src/storage/index.ts";

const LIST = { form: "list" } as const;
const MANUAL = { durability: "manual" } as const;
const step = (action: number, more: object = {}) => ({ state: action, action, reward: 0, nextState: action + 1, ...more });
const actions = (buffer: { items(): Iterable<unknown> }) => [...buffer.items()].flat().map((one) => (one as { action: number }).action);
const written = (n: number): Directory => {
  const directory = memory();
  const buffer = new PersistentReplayBuffer(directory, 100, MANUAL);
  for (let i = 0; i < n; i++) buffer.append(step(i));
  buffer.close();
  return directory;
};

describe("a directory whose random state was written before its first step", () => {
  test.each([true, false])("opens after draws from an ancestor (ancestor passed again: %s)", (again) => {
    const [old, directory] = [written(9), memory()];
    const first = new PersistentReplayBuffer(directory, 100, { ...MANUAL, ancestor: old, seed: 4 });
    const drawn = first.sample(4, LIST);
    first.close();
    const second = new PersistentReplayBuffer(directory, 100, { ...MANUAL, ancestor: again ? old : null, seed: 4 });
    expect(actions(second)).toEqual(again ? [0, 1, 2, 3, 4, 5, 6, 7, 8] : []);
    if (again) expect(second.sample(4, LIST)).not.toEqual(drawn);
    second.append(step(9));
    second.close();
    const third = new PersistentReplayBuffer(directory, 100, MANUAL);
    expect(actions(third)).toEqual([9]);
    third.close();
  });

  test("opens after a draw while an episode is running", () => {
    const directory = memory();
    const first = new PersistentEpisodicReplayBuffer(directory, 100, MANUAL);
    first.append(step(0));
    expect([...first.sampleEpisodes(0, LIST)]).toEqual([]);
    first.close();
    const second = new PersistentEpisodicReplayBuffer(directory, 100, MANUAL);
    expect(second.nEpisodes).toBe(0);
    second.append(step(1, { isStateTerminal: true }));
    second.close();
    const third = new PersistentEpisodicReplayBuffer(directory, 100, MANUAL);
    expect(actions(third)).toEqual([1]);
    third.close();
  });

  test("opens if an earlier version wrote it", () => {
    const directory = memory();
    const log = Log.open(directory, { about: { reprise: "pfrl", version: 2, family: "transitions", ancestor: null }, ...MANUAL });
    log.write(RANDOM, 0, new Uint8Array(32).fill(7));
    log.commit();
    log.close();
    const buffer = new PersistentReplayBuffer(directory, 100, MANUAL);
    for (let i = 0; i < 5; i++) buffer.append(step(i));
    buffer.close();
    const again = new PersistentReplayBuffer(directory, 100, MANUAL);
    expect(actions(again)).toEqual([0, 1, 2, 3, 4]);
    again.close();
  });
});

test("a loaded file may have another spec than the former content", () => {
  const [directory, files] = [memory(), memory()];
  const words = new ReplayBuffer();
  words.append({ state: "a word", action: 7, reward: 0 });
  words.save({ directory: files, file: "words" });
  const buffer = new PersistentReplayBuffer(directory, 100, MANUAL);
  buffer.append(step(0));
  buffer.stopCurrentEpisode();
  buffer.load({ directory: files, file: "words" });
  buffer.close();
  const again = new PersistentReplayBuffer(directory, 100, MANUAL);
  expect([...again.items()].flat().map(({ state }) => state)).toEqual(["a word"]);
  again.close();
});

test("loading an empty file empties the directory", () => {
  const [directory, files] = [memory(), memory()];
  new ReplayBuffer().save({ directory: files, file: "nothing" });
  const buffer = new PersistentReplayBuffer(directory, 100, MANUAL);
  buffer.append(step(0));
  buffer.load({ directory: files, file: "nothing" });
  expect(buffer.length).toBe(0);
  buffer.append(step(1));
  buffer.close();
  const again = new PersistentReplayBuffer(directory, 100, MANUAL);
  expect(actions(again)).toEqual([1]);
  again.close();
});

test("takeOver is passed to the directory's lock", () => {
  const asked: unknown[] = [];
  const directory: Directory = memory();
  const lock = directory.lock.bind(directory);
  directory.lock = (onTakeover, takeOver) => {
    asked.push(takeOver);
    return lock(onTakeover, takeOver);
  };
  new PersistentReplayBuffer(directory, 9, { ...MANUAL, takeOver: true }).close();
  new PersistentEpisodicReplayBuffer(memory(), 9, { ...MANUAL, takeOver: false }).close();
  new PersistentReplayBuffer(directory, 9, MANUAL).close();
  expect(asked).toEqual([true, false]);
});
