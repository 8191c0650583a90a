/** Tests deceptive values passed to observers, buffers and related functions. */
import { expect, test } from "vitest";
import { f32, Replay, text } from "../../../src/index.ts";
import {
  drive,
  EpisodicReplayBuffer,
  fromTransition,
  isBoundary,
  isFirst,
  LocalClient,
  mid,
  ReverbAddEpisodeObserver,
  restart,
  StepType,
  transition,
} from "../../../src/tf-agents/index.ts";
import { errorOf, expectError, expectRefused } from "../../support/refused.ts";
import { ONCE, replayOf, SPEC, step } from "./support.ts";

const FLAGS = { beginEpisodeFn: () => false, endEpisodeFn: () => false };
const refused = (call: () => unknown, says: RegExp) => expectError(errorOf(call), TypeError, says);

test("a batch may contain text, even with one row", () => {
  const buffer = new EpisodicReplayBuffer({ said: text({ maxBytes: 4 }), x: f32(2) }, { capacity: 3, ...FLAGS });
  expect(buffer.addBatch({ said: ["a"], x: [[1, 2]] }, [-1])).toEqual([0]);
  expect(buffer.addBatch({ said: ["b", "c"], x: new Float32Array(4) }, [0, 0])).toEqual([0, 0]);
  expect(buffer.getEpisode(0).said.data).toEqual(["a", "b", "c"]);
});

test("step functions reject invalid steps, rewards and batch sizes", () => {
  refused(() => isFirst(null as never), /^step must be an object with stepType, got null/);
  refused(() => isBoundary({ stepType: null as never }), /^stepType must .*got null/);
  refused(() => isFirst({ stepType: [{}] as never }), /^a step type must be a number/);
  refused(() => transition("o", undefined as never), /^reward is required: a number/);
  refused(() => mid("o", 0, [], 1, null as never), /^discount must/);
  refused(() => fromTransition(restart("o"), 1, null as never), /^nextTimeStep must be an object with stepType/);
  refused(() => restart("o", null as never), /^options must be an object with keys batchSize/);
  expectError(
    errorOf(() => restart("o", { batchSize: 1e308 })),
    RangeError,
    /^batchSize must be an integer in/,
  );
});

test("drive rejects an invalid environment, policy, observer or state", () => {
  const environment = { reset: () => 0, step: () => ({ observation: 0, reward: 0, terminated: true, truncated: false }) };
  const limit = { steps: 1 };
  refused(() => drive({ reset: () => 0 } as never, () => 0, [], limit), /^environment must/);
  refused(() => drive(environment, {} as never, [], limit), /^policy must/);
  refused(() => drive(environment, () => 0, new Array(2), limit), /^observers must be an array of functions/);
  refused(() => drive(environment, () => 0, [], limit, {} as never), /^from must be .*earlier call to drive/);
});

test("an episodic buffer rejects invalid indices, locations and specs", () => {
  const buffer = new EpisodicReplayBuffer({ x: f32() }, { capacity: 3, ...FLAGS });
  const copy = { length: [1], completed: [0], items: [{ x: [1] }] };
  const gone = new Float64Array(1);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  for (const wrong of [undefined, null, {}, 3])
    for (const call of [() => buffer.extendEpisodes([-1], wrong as never, copy as never), () => buffer.extract(wrong as never)])
      expectError(errorOf(call), "SPEC_MISMATCH", /^(indices|locations) (must be|is required:) a list/);
  expect([...buffer.getValidIdsMask(gone)]).toEqual([]);
  refused(() => new EpisodicReplayBuffer(null as never, FLAGS), /^spec must be a leaf/);
});

test("a rejected insert leaves no open writer", () => {
  const replay = replayOf({ t: ONCE });
  const client = new LocalClient(replay);
  expectRefused(replay, () => client.insert({ ...step(1), reward: "x" } as never, { t: 1 }), "SPEC_MISMATCH", /^reward must be/);
  expectRefused(replay, () => client.insert(step(1) as never, { t: 1 }, { signal: {} as never }), TypeError, /^signal must be an AbortSignal/);
  expect(replay.writers.length).toBe(0);
  client.insert(step(1) as never, { t: 1 });
  expect(replay.table("t").size).toBe(1);
});

test("resume rejects an object that only resembles a writer", () => {
  const replay = new Replay({ spec: SPEC, tables: { t: ONCE } });
  const observer = new ReverbAddEpisodeObserver(replay, { tableName: "t", maxSequenceLength: 3 });
  expectRefused(replay, () => observer.resume({ ...replay.writers[0] } as never), TypeError, /^writer must be a writer that Replay\.open restored/);
  observer({ ...step(1), stepType: StepType.LAST });
  expect(replay.table("t").size).toBe(1);
});
