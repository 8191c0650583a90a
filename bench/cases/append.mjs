/** Measures the cost of appending a step in each form, compared with appending to a ring one by one. */

import { fillRing, fullRing, fullTable, priority, tableWith } from "../filled.mjs";
import { fifo, minHeap, Replay, uniform } from "../package.mjs";
import { Random } from "../random.mjs";
import { columnClosure } from "../rivals/column-closure.mjs";
import { ObjectRing } from "../rivals/object-ring.mjs";
import { SnakeMemory } from "../rivals/tfjs-snake.mjs";
import { BATCH, SOURCE_STEPS, STEPS, source, spec } from "../source.mjs";

const MASK = SOURCE_STEPS - 1;
const ITEM = { length: 2 };
const UNIT = "ns/step";
/** LONG is the number of steps in a long item. LONG_TABLE is the number of items in the tables of the cases with long items or many writers. */
const LONG = 1000;
const LONG_TABLE = 100_000;
export const WRITERS = 10_000;

/** Returns a side that fills the staging record and appends it, n times. */
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

/** Like `staged`, but also creates an item with `createItem`. */
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

/** Returns a side that passes a new object per step to `append`, like the wrapper of an environment. The observations are existing arrays. */
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

/** Returns a side that appends steps and creates an item with a random priority from each, in a full table. A heap as the remover may evict any item. */
function itemsIn(remover) {
  const { replay } = tableWith(STEPS, { remover });
  const writer = replay.writer();
  const append = staged(writer, source().columns);
  const random = new Random(13);
  const priorities = Float64Array.from({ length: 1 << 16 }, () => priority(random));
  const item = { length: 1, priority: 1 };
  let made = 0;
  const side = (n) => {
    for (let k = 0; k < n; k++) {
      append(1);
      // Priorities rise slowly, because otherwise the newest item would be the next one evicted.
      item.priority = priorities[made & (priorities.length - 1)] + 1e-6 * made++;
      writer.createItem("t", item);
    }
    return writer.length;
  };
  // Replaces all items first, so that the heap is as mixed as in a long run.
  side(2 * STEPS);
  return side;
}

/** Returns a writer without rules that has appended one step. After one more append, an item of two steps can be created. */
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

/** Compares with rivals/column-closure.mjs, the fastest way to append that we found, which only supports appending. No limit applies. */
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
  return blocks(byRule(), columns);
}

function blocks(writer, columns) {
  return (n) => {
    for (let k = 0; k < n; k += BATCH) writer.appendColumns(columns);
    return writer.length;
  };
}

/** Returns a writer whose rule creates items of `length` steps in a full table. */
function longItems(length) {
  return fullTable(LONG_TABLE, uniform(), length).replay.writer({ items: [{ table: "t", length }] });
}

function againstShort(name, ours) {
  return { name, unit: UNIT, rivalName: "items of 2 steps", limit: 1 / 1.5, ours: () => ours(longItems(LONG)), rival: () => ours(longItems(2)) };
}

/** Returns a side that appends steps to many writers in turn. Each writer has a rule. */
function manyWriters(writers) {
  const { replay } = fullTable(LONG_TABLE);
  const open = Array.from({ length: writers }, () => replay.writer({ items: [{ table: "t", length: 2 }] }));
  let turn = 0;
  return nested((step) => {
    open[turn].append(step);
    turn = turn + 1 < writers ? turn + 1 : 0;
  }, source());
}

export const cases = [
  againstRing("staged append, no table", 0.35, ({ columns }) => noTable(columns)),
  againstRing("staged append + item by rule", 0.15, ({ columns }) => staged(byRule(), columns)),
  againstRing("staged append + createItem", 0.15, ({ columns, steps }) => stagedItem(byCall(steps), columns)),
  againstRing("nested append + item by rule", 0.07, nestedByRule),
  againstRing("nested append + createItem", 0.07, (data) => nestedItem(byCall(data.steps), data)),
  againstRing(`columns of ${BATCH} steps + items`, 0.5, ({ columns }) => inColumns(columns)),
  againstShort(`staged append + item of ${LONG} steps by rule`, (writer) => staged(writer, source().columns)),
  againstShort(`columns of ${BATCH} steps + items of ${LONG} steps`, (writer) => blocks(writer, source().columns)),
  { name: `nested append, ${WRITERS} open writers`, unit: UNIT, rivalName: "one writer", ours: () => manyWriters(WRITERS), rival: () => manyWriters(1) },
  { name: "append + createItem, minHeap remover", unit: UNIT, rivalName: "uniform remover", ours: () => itemsIn(minHeap()), rival: () => itemsIn(uniform()) },
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
    // A transition is a pair of steps. The second step is also the first of the next pair.
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
