// Runs structured writers, and the datasets of their patterns.
import { f32, fifo, i32, queueLimiter, u8 } from "reprise";
import { Condition, createConfig, LocalClient, PatternDataset, patternDatasetWithInfo, patternFromTransform, tdError } from "reprise/agents";

const spec = { observation: { state: f32(4), frame: u8(300) }, action: i32(), reward: f32(), end: u8() };
const EPISODE = 97;
const frame = new Uint8Array(300);
const state = new Float32Array(4);

function step(i) {
  state[0] = i;
  frame[i % 300] = i;
  return { observation: { state, frame }, action: i % 7, reward: i % 11, end: i % EPISODE === EPISODE - 1 ? 1 : 0 };
}

const of = (make) => patternFromTransform(spec, make);
const windows = of((ref) => ({ frames: ref.observation.frame.slice(-4), state: ref.observation.state.at(-1), actions: ref.action.slice(-4, -1) }));
const pairs = of((ref) => ({ state: ref.observation.state.slice(-2), reward: ref.reward.at(-2) }));
const strided = of((ref) => [ref.reward.slice(-9, null, 2)]);

const CONFIGS = [
  createConfig(windows, "t", { conditions: [Condition.stepsSinceApplied().ge(2)] }),
  createConfig(pairs, "t", { conditions: [Condition.data(spec).action.mod(3).eq(1)], priority: tdError(0.9, spec, (ref) => ref.reward) }),
  createConfig(strided, "ends", { conditions: [Condition.isEndEpisode()] }),
];

const TABLES = [
  { name: "t", maxSize: 1000 },
  { name: "ends", maxSize: 1000 },
];

function client(tables = TABLES) {
  return LocalClient.of({ spec, tables, maxBytes: 2 ** 27, logger: null });
}

export const kinds = [
  {
    name: "StructuredWriter, three patterns",
    make() {
      const writer = client().structuredWriter(CONFIGS);
      return (from, to) => {
        for (let i = from; i < to; i++) {
          writer.append(step(i));
          if (i % EPISODE === EPISODE - 1) writer.endEpisode({ clearBuffers: i % 2 === 0 });
        }
      };
    },
  },
  {
    name: "StructuredWriter, steps in parts and without some fields",
    make() {
      const writer = client().structuredWriter(CONFIGS);
      return (from, to) => {
        for (let i = from; i < to; i++) {
          const { observation, action, reward, end } = step(i);
          writer.append({ observation, action: null, reward, end: null }, { partialStep: true });
          if (i % EPISODE === EPISODE - 1) writer.endEpisode({ clearBuffers: i % 2 === 0 });
          else writer.append({ observation: { state: null, frame: null }, action: i % 13 === 0 ? null : action, reward: null, end });
        }
      };
    },
  },
  {
    name: "StructuredWriter, items that wait for a sampler",
    make() {
      const queue = { name: "t", maxSize: 1000, sampler: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(100), maxPending: 1000 };
      const made = client([queue]);
      const writer = made.structuredWriter([createConfig(pairs, "t")]);
      return async (from, to) => {
        for (let i = from; i < to; i++) {
          writer.append(step(i));
          if (i % 150 === 149) while (made.table("t").sample(32, { cross: true }).count > 0);
          if (i % 1500 === 1499) await writer.flush();
        }
      };
    },
  },
  {
    name: "StructuredWriter, a writer an episode",
    make() {
      const made = client();
      return (from, to) => {
        let writer = made.structuredWriter(CONFIGS);
        for (let i = from; i < to; i++) {
          writer.append(step(i));
          if (i % EPISODE !== EPISODE - 1) continue;
          writer.endEpisode();
          writer.close();
          writer = made.structuredWriter(CONFIGS);
        }
        writer.close();
      };
    },
  },
  {
    name: "PatternDataset",
    make: () => through((steps) => new PatternDataset(steps, [createConfig(windows, "t")], options(true))),
  },
  {
    name: "patternDatasetWithInfo, as a stream",
    make: () => through((steps) => patternDatasetWithInfo(steps, [createConfig(pairs, "t")], options(false)).stream()),
  },
];

function options(respectEpisodeBoundaries) {
  return { respectEpisodeBoundaries, isEndOfEpisode: ({ end }) => end === 1 };
}

/** Iterates over all steps and takes one item per step. */
function through(make) {
  const iterator = make(endless())[Symbol.asyncIterator]();
  return async (from, to) => {
    for (let i = from; i < to; i++) if ((await iterator.next()).done) throw new Error("the dataset came to an end");
  };
}

function* endless() {
  for (let i = 0; ; i++) yield step(i);
}
