/** Computes the digest of observers and replay buffers: runs a fixed script of random episodes, and hashes every item, window, id and probability. */

import { f32, f64, i32, prioritized, Replay, u8 } from "../../src/index.ts";
import {
  EpisodicReplayBuffer,
  isFirst,
  isLast,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbReplayBuffer,
  TFUniformReplayBuffer,
  type Trajectory,
  trajectorySpec,
} from "../../src/tf-agents/index.ts";
import { TestRandom } from "../support/random.ts";
import { bytes } from "./scenes.ts";
import { Sink } from "./sink.ts";

const STEPS = 1500;
const TABLES = { windows: { maxSize: 200, sampler: prioritized(0.7) }, episodes: { maxSize: 12 } };

export async function agentsDigest(): Promise<string> {
  const sink = new Sink();
  const random = new TestRandom(77);
  const spec = trajectorySpec({ observation: { image: u8(40, 40), numbers: f64(2) }, action: i32() });
  const replay = new Replay({ spec, tables: TABLES, seed: 5, maxBytes: 2 ** 27 });
  const client = replay as never;
  const windows = new ReverbAddTrajectoryObserver<typeof spec>(client, {
    tableName: "windows",
    sequenceLength: 4,
    strideLength: 2,
    padEndOfEpisodes: true,
    tileEndOfEpisodes: true,
  });
  const whole = new ReverbAddEpisodeObserver<typeof spec>(client, {
    tableName: "episodes",
    maxSequenceLength: 30,
    bypassPartialEpisodes: true,
    onWarning: (said) => sink.text(said),
  });
  const table = new ReverbReplayBuffer(spec, { client, tableName: "windows", sequenceLength: 4 });
  const uniform = new TFUniformReplayBuffer({ x: f32(3), t: i32() }, { batchSize: 3, maxLength: 50, seed: 9 });
  const episodic = new EpisodicReplayBuffer(spec, {
    capacity: 5,
    seed: 11,
    beginEpisodeFn: (items) => isFirst(items),
    endEpisodeFn: (items) => isLast(items),
  });
  let id = -1;
  let type = 0;
  for (let t = 0; t < STEPS; t++) {
    const last = type === 1 && random.below(9) === 0;
    const step = trajectory(random, t, type, type === 2 ? 0 : last ? 2 : 1);
    windows(step);
    whole(step);
    id = episodic.addBatch(batchOf(step) as never, [id])[0] as number;
    uniform.addBatch({ x: Float32Array.from({ length: 9 }, () => random.next()), t: [t, t + 1, t + 2] });
    type = type === 2 ? 0 : last ? 2 : 1;
    if (t % 10 < 9 || t < 100) continue;
    // Batches are hashed column by column, by their leaves.
    sink.nest([...take(table.asDataset({ sampleBatchSize: 5, numSteps: 2 }), 2)]);
    sink.nest([uniform.getNext({ sampleBatchSize: 7, numSteps: 3 }), episodic.getNext({ sampleBatchSize: 4, numSteps: 2 }), episodic.getNext()]);
    if (t % 100 === 99)
      sink.nest([...uniform.asDataset({ singleDeterministicPass: true, numSteps: 4 }), ...episodic.asDataset({ singleDeterministicPass: true, numSteps: 3 })]);
    sink.value([windows.cachedSteps, whole.cachedSteps, table.numFrames(), uniform.numFrames(), episodic.numFrames(), id, ...episodic.completedEpisodes()]);
    await sink.drain();
  }
  return sink.digest();
}

function trajectory(random: TestRandom, t: number, stepType: number, nextStepType: number): Trajectory {
  const observation = { image: bytes(random, 1600), numbers: Float64Array.of(t, random.next()) };
  return { stepType, observation, action: random.below(9), policyInfo: [], nextStepType, reward: random.next(), discount: nextStepType === 2 ? 0 : 1 };
}

/** Returns a batch of one trajectory. */
function batchOf({ observation, ...numbers }: Trajectory): unknown {
  const { policyInfo, ...each } = numbers;
  return { observation, policyInfo, ...Object.fromEntries(Object.entries(each).map(([name, value]) => [name, [value]])) };
}

function* take<T>(source: Iterable<T>, n: number): Generator<T, void> {
  for (const one of source) {
    yield one;
    if (--n === 0) return;
  }
}
