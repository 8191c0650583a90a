// Runs Python buffers, and a driver that fills one.
import { f32, i32, u8 } from "reprise";
import { PyDriver, PyHashedReplayBuffer, PyUniformReplayBuffer, restart, toTransition, trajectorySpec, transition } from "reprise/agents";

const CAPACITY = 1000;
const DRAWS = 100;

const frames = trajectorySpec({ observation: u8(21, 21, 4), action: i32() });
const observation = new Uint8Array(21 * 21 * 4);
const ONE = [1];

function stacked(t) {
  for (let k = 0; k < 4; k++) observation[4 * (t % 441) + k] = t + k;
  return { stepType: ONE, observation, action: [t % 7], policyInfo: [], nextStepType: ONE, reward: ONE, discount: ONE };
}

function uniform() {
  return new PyUniformReplayBuffer(trajectorySpec({ observation: f32(4), action: i32() }), { capacity: CAPACITY });
}

export const kinds = [
  {
    name: "PyUniformReplayBuffer",
    make() {
      const buffer = uniform();
      const seen = new Float32Array(4);
      return (from, to) => {
        for (let t = from; t < to; t++) {
          seen[0] = t;
          buffer.addBatch({ stepType: ONE, observation: seen, action: [t % 7], policyInfo: [], nextStepType: ONE, reward: ONE, discount: ONE });
          if (t % DRAWS === 0) buffer.getNext({ sampleBatchSize: 8, numSteps: 1 });
        }
      };
    },
  },
  {
    name: "PyHashedReplayBuffer",
    make() {
      const buffer = new PyHashedReplayBuffer(frames, { capacity: CAPACITY });
      return (from, to) => {
        for (let t = from; t < to; t++) {
          buffer.addBatch(stacked(t));
          if (t % DRAWS === 0) buffer.getNext({ sampleBatchSize: 8 });
        }
      };
    },
  },
  {
    name: "PyDriver into a buffer, and transitions of it",
    make() {
      const buffer = uniform();
      let n = 0;
      const environment = { reset: () => restart([n, 0, 0, 0]), step: () => transition([++n, 0, 0, 0], 1) };
      const observer = ({ stepType, observation: seen, action, nextStepType, reward, discount }) => {
        const at = [stepType, action, nextStepType, reward, discount].map((one) => [one]);
        buffer.addBatch({ stepType: at[0], observation: [seen], action: at[1], policyInfo: [], nextStepType: at[2], reward: at[3], discount: at[4] });
      };
      let state = {};
      return (from, to) => {
        for (let t = from; t < to; t += DRAWS) {
          const driver = new PyDriver(environment, () => 0, [observer], { maxSteps: DRAWS });
          state = driver.run(state.timeStep);
          toTransition(buffer.getNext({ sampleBatchSize: 8, numSteps: 2 }));
        }
      };
    },
  },
];
