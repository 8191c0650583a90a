/** Measures adding one step, from which a rule creates an item: staged in place, or from a new object each time. The table is full. */
import { prioritized, uniform } from "../../package.mjs";
import { ALPHA, BLOCK, columns, transitions } from "./source.mjs";
import { contents } from "./ways.mjs";

export function make({ way, batch, steps, priorities }) {
  const { replay, table } = transitions(steps, priorities ? prioritized(ALPHA) : uniform());
  // Most libraries use the largest priority for a new transition.
  const rule = priorities ? { table: "t", length: 1, priority: "max" } : { table: "t", length: 1 };
  const writer = replay.writer({ items: [rule] });
  return { run: (way === "staged" ? staged : objects)(writer, columns()), columns: contents(table.sample(batch)) };
}

/** Returns a function that fills the staging record and appends it, n times. */
export function staged(writer, { observation, action, reward, nextObservation, done }) {
  const step = writer.staged;
  let i = 0;
  return (n) => {
    for (let k = 0; k < n; k++) {
      i = i === BLOCK - 1 ? 0 : i + 1;
      const o = 4 * i;
      const from = step.observation;
      from[0] = observation[o];
      from[1] = observation[o + 1];
      from[2] = observation[o + 2];
      from[3] = observation[o + 3];
      const to = step.nextObservation;
      to[0] = nextObservation[o];
      to[1] = nextObservation[o + 1];
      to[2] = nextObservation[o + 2];
      to[3] = nextObservation[o + 3];
      step.action = action[i];
      step.reward = reward[i];
      step.done = done[i];
      writer.append();
    }
    return writer.length;
  };
}

function objects(writer, all) {
  // The arrays exist before the measurement, like the observations of an environment.
  const arrays = (column) => Array.from({ length: BLOCK }, (_, i) => column.slice(4 * i, 4 * i + 4));
  const [observations, nextObservations] = [arrays(all.observation), arrays(all.nextObservation)];
  const { action, reward, done } = all;
  let i = 0;
  return (n) => {
    for (let k = 0; k < n; k++) {
      i = i === BLOCK - 1 ? 0 : i + 1;
      writer.append({ observation: observations[i], action: action[i], reward: reward[i], nextObservation: nextObservations[i], done: done[i] });
    }
    return writer.length;
  };
}
