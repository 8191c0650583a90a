/** Appending a step: what it costs in each form, against the ring that is filled one by one. */

import { fillRing, fullRing, fullTable } from "../filled.mjs";
import { fifo, Replay, uniform } from "../package.mjs";
import { columnClosure } from "../rivals/column-closure.mjs";
import { ObjectRing } from "../rivals/object-ring.mjs";
import { SnakeMemory } from "../rivals/tfjs-snake.mjs";
import { BATCH, SOURCE_STEPS, STEPS, source, spec } from "../source.mjs";

const MASK = SOURCE_STEPS - 1;
const ITEM = { length: 2 };
const UNIT = "ns/step";

/** Fills the staging record and appends it, n times. */
export function staged(writer, { observation, action, reward, discount, stepType }) {
  const step = writer.staged;
  return (n) => {
    for (let k = 0; k < n; k++) {
      const i = k & MASK;
      const o = 4 * i;
      const to = step.observation;
      to[0] = observation[o];
      to[1] = observation[o + 1];
      to[2] = observation[o + 2];
      to[3] = observation[o + 3];
      step.action = action[i];
      step.reward = reward[i];
      step.discount = discount[i];
      step.stepType = stepType[i];
      writer.append();
    }
    return writer.length;
  };
}

/** The same, and an item by `createItem`. */
function stagedItem(writer, { observation, action, reward, discount, stepType }) {
  const step = writer.staged;
  return (n) => {
    for (let k = 0; k < n; k++) {
      const i = k & MASK;
      const o = 4 * i;
      const to = step.observation;
      to[0] = observation[o];
      to[1] = observation[o + 1];
      to[2] = observation[o + 2];
      to[3] = observation[o + 3];
      step.action = action[i];
      step.reward = reward[i];
      step.discount = discount[i];
      step.stepType = stepType[i];
      writer.append();
      writer.createItem("t", ITEM);
    }
    return writer.length;
  };
}

/** A new object a step, as an environment's wrapper makes it; its observation belongs to the environment. */
function nested(append, { steps }) {
  return (n) => {
    for (let k = 0; k < n; k++) {
      const { observation, action, reward, discount, stepType } = steps[k & MASK];
      append({ observation, action, reward, discount, stepType });
    }
    return n;
  };
}

function nestedItem(writer, { steps }) {
  return (n) => {
    for (let k = 0; k < n; k++) {
      const { observation, action, reward, discount, stepType } = steps[k & MASK];
      writer.append({ observation, action, reward, discount, stepType });
      writer.createItem("t", ITEM);
    }
    return writer.length;
  };
}

function byRule() {
  return fullTable(STEPS).replay.writer({ items: [{ table: "t", length: 2 }] });
}

/** A writer whose first item can be made: one step is there already. */
export function byCall(steps) {
  const writer = fullTable(STEPS).replay.writer();
  writer.append(steps[0]);
  return writer;
}

function ringSide(columns) {
  const ring = fullRing(STEPS);
  return (n) => {
    fillRing(ring, columns, n);
    return ring.head;
  };
}

function againstRing(name, limit, ours) {
  return { name, unit: UNIT, rivalName: "column ring, one by one", limit, ours: () => ours(source()), rival: () => ringSide(source().columns) };
}

/** The fastest filling that we found, beside the ring that can also be sampled: no limit is set against it. */
function againstClosure(name, ours) {
  const rivalName = "column closure, one by one";
  return { name: `${name}, closure`, again: true, unit: UNIT, rivalName, ours: () => ours(source().columns), rival: () => closureSide(source().columns) };
}

function closureSide({ observation, action, reward, discount, stepType }) {
  const append = columnClosure(STEPS);
  return (n) => {
    let head = 0;
    for (let k = 0; k < n; k++) {
      const i = k & MASK;
      const o = 4 * i;
      head = append(observation[o], observation[o + 1], observation[o + 2], observation[o + 3], action[i], reward[i], discount[i], stepType[i]);
    }
    return head;
  };
}

function againstObjects(name, rivalName, rival) {
  return { name, again: true, unit: UNIT, rivalName, ours: () => nestedByRule(source()), rival: () => rival(source()) };
}

function nestedByRule(data) {
  const writer = byRule();
  return nested((step) => writer.append(step), data);
}

function noTable(columns) {
  const replay = new Replay({ spec, tables: { t: { maxSize: STEPS, sampler: uniform(), remover: fifo() } } });
  return staged(replay.writer(), columns);
}

function inColumns(columns) {
  const writer = byRule();
  return (n) => {
    for (let k = 0; k < n; k += BATCH) writer.appendColumns(columns);
    return writer.length;
  };
}

export const cases = [
  againstRing("staged append, no table", 0.35, ({ columns }) => noTable(columns)),
  againstRing("staged append + item by rule", 0.15, ({ columns }) => staged(byRule(), columns)),
  againstRing("staged append + createItem", 0.15, ({ columns, steps }) => stagedItem(byCall(steps), columns)),
  againstRing("nested append + item by rule", 0.07, nestedByRule),
  againstRing("nested append + createItem", 0.07, (data) => nestedItem(byCall(data.steps), data)),
  againstRing(`columns of ${BATCH} steps + items`, 0.5, ({ columns }) => inColumns(columns)),
  againstClosure("staged append, no table", noTable),
  againstClosure("staged append + item by rule", (columns) => staged(byRule(), columns)),
  againstClosure(`columns of ${BATCH} steps + items`, inColumns),
  againstObjects("nested append + item by rule, object ring", "object ring", (data) => {
    const ring = new ObjectRing(STEPS);
    const fill = nested((step) => ring.append(step), data);
    fill(STEPS);
    return fill;
  }),
  againstObjects("nested append + item by rule, tfjs snake", "tfjs snake memory", ({ steps }) => {
    const memory = new SnakeMemory(STEPS);
    const own = ({ observation, action, reward, discount, stepType }) => ({ observation: observation.slice(), action, reward, discount, stepType });
    // A transition is a pair of steps, the second of which is the first of the next.
    let last = own(steps[0]);
    const fill = (n) => {
      for (let k = 0; k < n; k++) {
        const next = own(steps[k & MASK]);
        memory.append([last, next]);
        last = next;
      }
      return memory.length;
    };
    fill(STEPS);
    return fill;
  }),
];
