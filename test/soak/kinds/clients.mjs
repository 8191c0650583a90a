// Runs the other writers, client calls, and the datasets of a table.
import { f32, fifo, i32, prioritized, queueLimiter, u8 } from "reprise";
import { LocalClient, Table, TimestepDataset, TrajectoryDataset } from "reprise/agents";

const spec = { observation: { state: f32(4), frame: u8(300) }, action: i32(), reward: f32() };
const EPISODE = 97;
const frame = new Uint8Array(300);
const state = new Float32Array(4);

function step(i) {
  state[0] = i;
  frame[i % 300] = i;
  return { observation: { state, frame }, action: i % 7, reward: i % 11 };
}

function client(table = { maxSize: 1000, sampler: prioritized() }) {
  return LocalClient.of({ spec, tables: [{ name: "t", ...table }], maxBytes: 2 ** 27, logger: null });
}

/** Creates items of a writer's last four steps. */
function windows(writer, i) {
  const { observation, action } = writer.history;
  if (i % EPISODE >= 3) writer.createItem("t", 1 + (i % 3), { frames: observation.frame.slice(-4), state: observation.state.at(-1), action: action.slice(-4) });
}

export const kinds = [
  {
    name: "TrajectoryWriter",
    make() {
      const writer = client().trajectoryWriter({ numKeepAliveRefs: 4 });
      return (from, to) => {
        for (let i = from; i < to; i++) {
          writer.append(step(i));
          windows(writer, i);
          if (i % EPISODE === EPISODE - 1) writer.endEpisode({ clearBuffers: i % 2 === 0 });
        }
      };
    },
  },
  {
    name: "TrajectoryWriter, partial steps, columns kept and read",
    make() {
      const writer = client().trajectoryWriter({ numKeepAliveRefs: 5 });
      return (from, to) => {
        for (let i = from; i < to; i++) {
          const { observation, action, reward } = step(i);
          writer.append({ observation, action }, { partialStep: true });
          if (i % 5 > 0) writer.append({ reward });
          else writer.append({ reward: null });
          const all = writer.history.action.slice(-1);
          if (i % 10 === 0) all.list([0, 0]).values();
          if (i % EPISODE === EPISODE - 1) writer.endEpisode();
        }
      };
    },
  },
  {
    name: "TrajectoryWriter, ends that wait for a sampler",
    make() {
      const made = client({ maxSize: 1000, sampler: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(100), maxPending: 1000 });
      const writer = made.trajectoryWriter({ numKeepAliveRefs: 4 });
      return async (from, to) => {
        for (let i = from; i < to; i++) {
          writer.append(step(i));
          windows(writer, i);
          if (i % EPISODE !== EPISODE - 1) continue;
          const ended = writer.endEpisode({ timeoutMs: 10_000 });
          while (made.table("t").sample(32, { cross: true }).count > 0);
          await ended;
        }
      };
    },
  },
  {
    name: "LegacyWriter",
    make() {
      let writer;
      const made = client();
      return (from, to) => {
        for (let i = from; i < to; i++) {
          writer ??= made.legacyWriter({ maxSequenceLength: 4 });
          writer.append(step(i));
          if (i % EPISODE >= 3) writer.createItem("t", 4, 1 + (i % 3));
          if (i % EPISODE !== EPISODE - 1) continue;
          writer.close();
          writer = undefined;
        }
      };
    },
  },
  {
    name: "client.insert, mutatePriorities, serverInfo",
    make() {
      const made = client();
      return (from, to) => {
        for (let i = from; i < to; i++) {
          made.insert(i % 3 === 0 ? { action: i % 7 } : step(i), { t: 1 + (i % 5) });
          if (i % 50 > 0) continue;
          const [{ info }] = made.sample("t", 1, { emitTimesteps: false });
          made.mutatePriorities("t", { updates: [[info.key, 3]], deletes: i % 100 === 0 ? [info.key] : [] });
          made.serverInfo();
        }
      };
    },
  },
  {
    name: "client.sample, whole and in steps",
    make() {
      const made = filled(client());
      return (from, to) => {
        for (let i = from; i < to; i += 10) {
          for (const { data } of made.sample("t", 5, { emitTimesteps: false })) if (data.length !== 3) throw new Error("columns are missing");
          for (const steps of made.sample("t", 5)) if (steps.length !== 4) throw new Error("steps are missing");
        }
      };
    },
  },
  {
    name: "client.sample, iterations of one item that wait",
    make() {
      const made = filled(client());
      return async (from, to) => {
        for (let i = from; i < to; i++) for await (const _ of made.sample("t", 1, { emitTimesteps: false, signal: new AbortController().signal }));
      };
    },
  },
  { name: "TrajectoryDataset", make: () => through(new TrajectoryDataset(filled(client()), "t", { spec: WINDOW })) },
  { name: "TrajectoryDataset, batches as a stream", make: () => through(new TrajectoryDataset(filled(client()), "t", { spec: WINDOW }).batch(8).stream(), 8) },
  { name: "TimestepDataset", make: () => through(new TimestepDataset(filled(client()), "t", { spec: STEP })) },
  {
    name: "TrajectoryDataset, iterations that end by the time limit",
    make() {
      const queue = Table.queue("t", 100);
      const made = LocalClient.of({ spec, tables: [queue], maxBytes: 2 ** 27, logger: null });
      const dataset = new TrajectoryDataset(made, "t", { spec: STEP_ITEM, rateLimiterTimeoutMs: 0 });
      return async (from, to) => {
        for (let i = from; i < to; i += 100) {
          for (let k = i; k < i + 100; k++) made.insert(step(k), { t: 1 });
          let n = 0;
          for await (const _ of dataset) n++;
          if (n !== 100) throw new Error(`${n} of 100 items`);
        }
      };
    },
  },
];

const WINDOW = { action: { dtype: "i32", shape: [4] }, frames: { dtype: "u8", shape: [4, 300] }, state: { dtype: "f32", shape: [4, 4] } };
const STEP = { action: { dtype: "i32", shape: [] }, frames: { dtype: "u8", shape: [300] }, state: { dtype: "f32", shape: [4] } };
const STEP_ITEM = {
  observation: { state: { dtype: "f32", shape: [1, 4] }, frame: { dtype: "u8", shape: [1, 300] } },
  action: { dtype: "i32", shape: [1] },
  reward: { dtype: "f32", shape: [1] },
};

/** Returns a table of a thousand items of four steps. */
function filled(made) {
  const writer = made.trajectoryWriter({ numKeepAliveRefs: 4 });
  for (let i = 0; i < 1003; i++) {
    writer.append(step(i));
    const { observation, action } = writer.history;
    if (i >= 3) writer.createItem("t", 1 + (i % 3), { frames: observation.frame.slice(-4), state: observation.state.slice(-4), action: action.slice(-4) });
  }
  return made;
}

/** Returns a function that reads elements of a dataset, or of its stream, `each` rows per element. */
function through(elements, each = 1) {
  const reader = typeof elements.getReader === "function" ? elements.getReader() : undefined;
  const iterator = reader ? undefined : elements[Symbol.asyncIterator]();
  return async (from, to) => {
    for (let i = from; i < to; i += each) if ((await (reader ? reader.read() : iterator.next())).done) throw new Error("the dataset came to an end");
  };
}
