/** Measures an observer call: a trajectory window of two steps, compared with the engine's append and createItem of the same steps. */
import { entry, f32, fifo, i32, Replay, uniform } from "../package.mjs";
import { SOURCE_STEPS, STEPS, source } from "../source.mjs";

const { ReverbAddTrajectoryObserver, trajectorySpec } = await entry("agents");
const MASK = SOURCE_STEPS - 1;
const ITEM = { length: 2 };

/** Returns trajectories within one episode, because the end of an episode is a separate cost. */
function trajectories() {
  return source().steps.map(({ observation, action, reward, discount }) => {
    return { stepType: 1, observation, action, policyInfo: [], nextStepType: 1, reward, discount };
  });
}

/** Returns a Replay with a full table of 1 M items. */
function fullReplay() {
  const spec = trajectorySpec({ observation: f32(4), action: i32() });
  const replay = new Replay({ spec, tables: { t: { maxSize: STEPS, sampler: uniform(), remover: fifo() } } });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  const steps = trajectories();
  for (let i = 0; i < STEPS + SOURCE_STEPS; i++) writer.append(steps[i & MASK]);
  writer.close();
  return replay;
}

export const cases = [
  {
    name: "observer call, trajectory of 2",
    unit: "ns/step",
    rivalName: "writer.append + createItem",
    limit: 0.5,
    ours() {
      const steps = trajectories();
      const observer = new ReverbAddTrajectoryObserver(fullReplay(), { tableName: "t", sequenceLength: 2 });
      return (n) => {
        for (let k = 0; k < n; k++) observer(steps[k & MASK]);
        return observer.cachedSteps;
      };
    },
    rival() {
      const steps = trajectories();
      const writer = fullReplay().writer();
      writer.append(steps[0]);
      return (n) => {
        for (let k = 0; k < n; k++) {
          writer.append(steps[k & MASK]);
          writer.createItem("t", ITEM);
        }
        return writer.length;
      };
    },
  },
  {
    name: "live steps under windows of 80, by step appended",
    unit: "steps",
    rivalName: "limit",
    limit: 1,
    fact() {
      const appended = 100_000;
      const spec = trajectorySpec({ observation: f32(4), action: i32() });
      const replay = new Replay({ spec, tables: { t: { maxSize: appended } } });
      const observer = new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 80 });
      const steps = trajectories();
      for (let k = 0; k < appended; k++) observer(steps[k & MASK]);
      return { ours: replay.stats().steps / appended, rival: 1.1 };
    },
  },
];
