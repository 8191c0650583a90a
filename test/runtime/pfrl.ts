/** Computes the digest of PFRL buffers: runs a fixed script of random episodes, and hashes every sample, before and after saving and loading the buffers. */
import { EpisodicReplayBuffer, PrioritizedEpisodicReplayBuffer, PrioritizedReplayBuffer, ReplayBuffer } from "../../src/pfrl/index.ts";
import { memory } from "../../src/storage/index.ts";
import { TestRandom } from "../support/random.ts";
import { Sink } from "./sink.ts";

const STEPS = 1500;
const ENVIRONMENTS = 3;
/** The number of steps before the first sample, after which all buffers can be sampled. */
const FILLING = 200;

const make = () => ({
  uniform: new ReplayBuffer(300, { numSteps: 3, seed: 1 }),
  prioritized: new PrioritizedReplayBuffer(200, { numSteps: 2, betaSteps: 100, seed: 2 }),
  episodic: new EpisodicReplayBuffer(400, { seed: 3 }),
  weighed: new PrioritizedEpisodicReplayBuffer(300, { betaSteps: 100, uniformRatio: 0.2, seed: 4 }),
});

export async function pfrlDigest(): Promise<string> {
  const sink = new Sink();
  const random = new TestRandom(41);
  let buffers = make();
  for (let t = 0; t < STEPS; t++) {
    if (t === STEPS >> 1) buffers = reopened(buffers);
    const { uniform, prioritized, episodic, weighed } = buffers;
    const step = transition(random, t);
    for (const buffer of [uniform, prioritized, episodic, weighed]) {
      buffer.append(step);
      if (t % 97 === 0) buffer.stopCurrentEpisode(step.envId);
    }
    if (t < FILLING || t % 10 < 9) continue;
    const errors = (n: number) => Float64Array.from({ length: n }, () => random.next() * 2);
    sink.nest([uniform.sample(9), prioritized.sample(8), episodic.sample(5), episodic.sampleEpisodes(2, 6), weighed.sampleEpisodes(3, 5)]);
    sink.nest([prioritized.updateErrors(errors(8)), weighed.updateErrors(errors(3)), prioritized.priorities()]);
    sink.nest([uniform.length, prioritized.beta, episodic.nEpisodes, weighed.maxPriority]);
    await sink.drain();
  }
  return sink.digest();
}

/** Returns a transition with an extra field, and occasionally without a next action. */
function transition(random: TestRandom, t: number) {
  const state = () => Float32Array.of(t, random.next());
  const nextAction = random.below(5) === 0 ? null : random.below(4);
  const isStateTerminal = random.below(12) === 0;
  return { state: state(), action: random.below(4), reward: random.next() - 0.5, nextState: state(), nextAction, isStateTerminal, envId: t % ENVIRONMENTS, t };
}

/** Saves the buffers, and returns new buffers that have loaded the saved state. */
function reopened(buffers: ReturnType<typeof make>): ReturnType<typeof make> {
  const directory = memory();
  const loaded = make();
  for (const [name, buffer] of Object.entries(buffers)) {
    buffer.save({ directory, file: name });
    loaded[name as keyof typeof loaded].load({ directory, file: name });
  }
  return loaded;
}
