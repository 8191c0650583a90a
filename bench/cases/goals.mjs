/** Compares hindsight goals with transitions of the same table, without the cost of a caller's reward function. */

import { counting } from "../measure.mjs";
import { f32, fifo, Replay, uniform } from "../package.mjs";
import { Random } from "../random.mjs";
import { BATCH, STEPS } from "../source.mjs";

/** FetchPush of Gymnasium-Robotics (Plappert et al., 2018): observations of 25 numbers, goals of 3, actions of 4, episodes of 50 steps. */
const EPISODE = 50;
const spec = { observation: { seen: f32(25), achieved: f32(3), desired: f32(3) }, action: f32(4), reward: f32() };
/** The number of distinct episodes. One array per leaf contains the steps of all of them. */
const TOGETHER = 10;

function filled(nStep) {
  const replay = new Replay({ spec, tables: { t: { maxSize: STEPS, sampler: uniform(), remover: fifo() } }, seed: 1, logger: null });
  const writer = replay.writer({ items: [{ table: "t", nStep }] });
  const random = new Random(7);
  const column = (n) => Float32Array.from({ length: n * TOGETHER * (EPISODE + 1) }, () => random.next());
  const columns = { observation: { seen: column(25), achieved: column(3), desired: column(3) }, action: column(4), reward: column(1) };
  const one = (values, n, from) => values.subarray(n * from, n * (from + EPISODE));
  for (let steps = 0; steps < STEPS + 1000; steps += EPISODE) {
    const from = ((steps / EPISODE) % TOGETHER) * (EPISODE + 1);
    const { observation, action, reward } = columns;
    const { seen, achieved, desired } = observation;
    writer.appendColumns({
      observation: { seen: one(seen, 25, from), achieved: one(achieved, 3, from), desired: one(desired, 3, from) },
      action: one(action, 4, from),
      reward: one(reward, 1, from),
    });
    const last = { seen: seen.subarray(0, 25), achieved: achieved.subarray(0, 3), desired: desired.subarray(0, 3) };
    writer.endEpisode({ final: { observation: last, action: action.subarray(0, 4), reward: 0 }, terminated: false });
  }
  return replay.tables.t;
}

/** Returns a case. @param reward whether hindsight calls a reward function, which returns stored numbers. @param strategy how hindsight chooses goals */
function against(nStep, reward, strategy = "future") {
  let table;
  const viewOf = (options) => {
    table ??= filled(nStep);
    const view = table.transitions({ gamma: 0.98, ...options });
    const into = { into: view.batch(BATCH) };
    return counting(() => view.sample(BATCH, into));
  };
  const rewards = new Float32Array(nStep * BATCH);
  const known = ({ rows }) => rewards.subarray(0, rows.length);
  const relabel = { goal: "observation.desired", achieved: "observation.achieved", strategy, share: 0.8, reward: reward ? known : "stored" };
  const what = nStep === 1 ? "" : ` of ${nStep} steps`;
  const name = `${BATCH} goals, ${strategy}${what}${reward ? ", with rewards that are there" : ""}`;
  // Hindsight goals may take twice as long as the rival.
  return { name, unit: "µs/batch", rivalName: "transitions without goals", ours: () => viewOf({ relabel }), rival: () => viewOf({}), limit: 0.5 };
}

export const cases = [against(1, false), against(1, true), against(1, true, "final"), against(3, true)];
