/** Tests that text works like numbers in clients, writers, observers and buffers. */
import { expect, test } from "vitest";
import { fifo, i32, Replay, text } from "../../../src/index.ts";
import {
  boundary,
  EpisodicReplayBuffer,
  first,
  LocalClient,
  last,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbReplayBuffer,
  TFUniformReplayBuffer,
  trajectorySpec,
} from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const spec = { said: text({ maxBytes: 4 }), words: text({ maxBytes: 2 }, 2), n: i32() } as const;
const frame = (said: string, n: number) => ({ said, words: [said.slice(0, 1), ""], n });
const NONE = [
  ["", ""],
  ["", ""],
];
const QUEUE = { maxSize: 9, sampler: fifo(), maxTimesSampled: 1 };

test("a trajectory writer supports text in its history, items and partial steps", () => {
  const client = LocalClient.of({
    spec,
    tables: [{ name: "t", ...QUEUE, signature: { a: { dtype: "string", shape: [null] }, b: { dtype: "string", shape: [2] } } }],
  });
  const writer = client.trajectoryWriter({ numKeepAliveRefs: 4 });
  writer.append(frame("one", 1));
  writer.append({ said: "two" }, { partialStep: true });
  expectError(
    errorOf(() => writer.append({ words: ["long", ""] }, { partialStep: true })),
    "INVALID_DATA",
    /^words must .*\b2 bytes/,
  );
  writer.append({ words: ["t", "w"] });
  const { said, words, n } = writer.history;
  expect(said.slice().values()).toEqual({ data: ["one", "two"], shape: [2] });
  expect(said.slice(null, null, -1).dtype).toBe("string");
  writer.createItem("t", 1, { a: said.list([1, 0, 1]), b: words.at(-1) });
  expect(client.table("t").sample(1).steps).toEqual({ a: { data: ["two", "one", "two"], shape: [1, 3] }, b: { data: ["t", "w"], shape: [1, 2] } });
  expectError(
    errorOf(() => writer.createItem("t", 1, { a: n.at(0), b: words.at(-1) })),
    "SPEC_MISMATCH",
    /string/,
  );
});

test("insert and a legacy writer accept text, including sequences", () => {
  const client = LocalClient.of({ spec, tables: [{ name: "t", ...QUEUE }] });
  client.insert({ said: "one", words: ["a", "b"] }, { t: 1 });
  expect(client.table("t").sample(1).steps).toMatchObject({ said: { data: ["one"], shape: [1, 1] }, words: { data: ["a", "b"] } });
  const writer = client.legacyWriter({ maxSequenceLength: 3 });
  writer.append({ said: "two", n: 1 });
  writer.appendSequence({ said: ["x", "y"], n: [2, 3] });
  writer.createItem("t", 3, 1);
  expect(client.table("t").sample(1).steps).toMatchObject({ said: { data: ["two", "x", "y"], shape: [1, 3] }, n: { data: Int32Array.of(1, 2, 3) } });
});

const TRAJECTORY = trajectorySpec({ observation: { said: text({ maxBytes: 4 }) }, action: i32() });

test("observers write text and pad with empty text, and ReverbReplayBuffer returns it", () => {
  const table = { maxSize: 9, sampler: fifo(), maxTimesSampled: 1 };
  const replay = new Replay({ spec: TRAJECTORY, tables: { t: table, whole: table } });
  const observer = new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 4, padEndOfEpisodes: true });
  const episodes = new ReverbAddEpisodeObserver(replay, { tableName: "whole", maxSequenceLength: 9 });
  const made = [first({ said: "a" }, 0, [], 0, 1), last({ said: "b" }, 1, [], 0, 1), boundary({ said: "c" }, 2, [], 0, 1)] as const;
  for (const one of made) for (const observe of [observer, episodes]) observe(one as never);
  const buffer = new ReverbReplayBuffer(TRAJECTORY, { client: replay as never, tableName: "t", sequenceLength: 4, rateLimiterTimeoutMs: 20 });
  const said = [...buffer.asDataset({ singleDeterministicPass: true })].map(([items]) => items.observation.said);
  expect(said).toEqual([{ data: ["a", "b", "c", ""], shape: [4] }]);
  expect(replay.table("whole").sample(1).steps.observation.said).toEqual({ data: ["a", "b", "c"], shape: [1, 3] });
});

test("a uniform buffer accepts text as arrays or columns, and returns it in windows", () => {
  const buffer = new TFUniformReplayBuffer(spec, { batchSize: 2, maxLength: 3 });
  buffer.addBatch({
    said: ["a", "b"],
    words: [
      ["c", "d"],
      ["e", "f"],
    ],
    n: [1, 2],
  });
  buffer.addBatch({
    said: { data: ["g", "h"], shape: [2] },
    words: [
      ["i", "j"],
      ["k", "l"],
    ],
    n: [3, 4],
  } as never);
  const all = buffer.gatherAll();
  expect([all.said, all.words]).toEqual([
    { data: ["a", "g", "b", "h"], shape: [2, 2] },
    { data: ["c", "d", "i", "j", "e", "f", "k", "l"], shape: [2, 2, 2] },
  ]);
  const [items] = buffer.getNext({ sampleBatchSize: 5, numSteps: 2 });
  expect(items.said.shape).toEqual([5, 2]);
  for (let i = 0; i < 10; i += 2) expect(["a,g", "b,h"]).toContain(items.said.data.slice(i, i + 2).join());
  const [single] = [...buffer.asDataset({ singleDeterministicPass: true, numSteps: 2, sampleBatchSize: 2 })].map(([one]) => one as unknown as typeof items);
  expect(single?.said).toEqual({ data: ["a", "g", "b", "h"], shape: [2, 2] });
  for (const said of [["a"], ["a", 5], "ab", { data: ["a", "b"], shape: [1, 2] }])
    expectError(
      errorOf(() => buffer.addBatch({ said, words: NONE, n: [1, 2] } as never)),
      "SPEC_MISMATCH",
      /^said must be string/,
    );
  expectError(
    errorOf(() => buffer.addBatch({ said: ["a", "too long"], words: NONE, n: [1, 2] })),
    "INVALID_DATA",
    /^said must .*got 8 bytes$/,
  );
  expect(buffer.numFrames()).toBe(4);
});

test("an episodic buffer accepts sequences and batches of text", () => {
  const buffer = new EpisodicReplayBuffer(spec, { capacity: 4, beginEpisodeFn: () => true, endEpisodeFn: () => true });
  const id = buffer.addSequence(
    {
      said: ["a", "b"],
      words: [
        ["c", "d"],
        ["e", "f"],
      ],
      n: [1, 2],
    },
    -1,
  );
  const ids = buffer.addBatch(
    {
      said: ["x", "y"],
      words: [
        ["", ""],
        ["z", ""],
      ],
      n: [3, 4],
    },
    [-1, -1],
  );
  expect(new Set([id, ...ids]).size).toBe(3);
  const said = buffer.gatherAll().said as unknown as { data: string[] };
  expect([...said.data].filter((one) => one !== "").sort()).toEqual(["a", "b", "x", "y"]);
});
