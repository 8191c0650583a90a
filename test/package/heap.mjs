// Prints by how many bytes the heap grows in CALLS calls of each kind. heap.test.ts runs this program with --expose-gc and --allow-natives-syntax.

import { heapGrowth } from "../../bench/measure.mjs";
import { f32, i32, mixture, prioritized, Replay } from "../../dist/index.js";
import { PrioritizedReplayBuffer, ReplayBuffer } from "../../dist/pfrl.js";

const CALLS = Number(process.argv[2]);
const BATCH = 16;

const replay = new Replay({
  spec: { observation: f32(4), action: i32(), reward: f32() },
  tables: { t: { maxSize: 1000, sampler: prioritized(0.6) } },
});
const table = replay.table("t");
const ruled = replay.writer({ items: [{ table: "t", length: 2 }] });
const plain = replay.writer();
const step = { observation: new Float32Array([0.1, 0.2, 0.3, 0.4]), action: 1, reward: 0.5 };
for (let i = 0; i < 2000; i++) ruled.append(step);
plain.append(step);

const staged = ruled.staged;
const item = { length: 2, priority: 0.7 };
const beta = { into: table.batch(BATCH, { length: 2, beta: 0.4 }), beta: 0.4 };
const view = table.transitions({ gamma: 0.99 });
const ofView = { into: view.batch(BATCH, { beta: 0.4 }), beta: 0.4 };
const ofSequences = table.sequences({ gamma: 0.99, n: 3 });
const sequences = { into: ofSequences.batch(BATCH, { beta: 0.4 }), beta: 0.4 };
const errors = new Float32Array(2 * BATCH).fill(0.3);
const ofErrors = { eta: 0.9, into: new Float64Array(BATCH) };
// All views belong to one Replay, because V8 boxes fractions in calls to the core if a call site sees several instances.
const mix = mixture([
  { from: view, share: 0.5 },
  { from: table.transitions({ gamma: 0.9 }), share: 0.5 },
]);
const ofMix = { into: mix.batch(BATCH, { beta: 0.4 }), beta: 0.4 };
const { keys } = table.sample(BATCH, { length: 2 }).info;
const priorities = new Float64Array(BATCH).fill(0.3);

const uniform = new ReplayBuffer(1000);
const per = new PrioritizedReplayBuffer(1000);
for (let i = 0; i < 2000; i++)
  for (const buffer of [uniform, per]) buffer.append({ state: step.observation, action: 1, reward: 0.5, nextState: step.observation });
const fromUniform = { into: uniform.sample(BATCH) };
const fromPer = { into: per.sample(BATCH) };
per.updateErrors(priorities);

const calls = {
  "PFRL's sample into": (n) => {
    for (let i = 0; i < n; i++) uniform.sample(BATCH, fromUniform);
  },
  "PFRL's prioritized sample into and updateErrors": (n) => {
    for (let i = 0; i < n; i++) {
      per.sample(BATCH, fromPer);
      per.updateErrors(priorities);
    }
  },
  "staged append": (n) => {
    for (let i = 0; i < n; i++) {
      staged.observation[i & 3] = i / 7;
      staged.action = i & 7;
      staged.reward = i / 3;
      ruled.append();
    }
  },
  "nested append and createItem": (n) => {
    for (let i = 0; i < n; i++) {
      plain.append(step);
      plain.createItem("t", item);
    }
  },
  "transitions into": (n) => {
    for (let i = 0; i < n; i++) view.sample(BATCH, ofView);
  },
  "sequences into, and their priorities": (n) => {
    for (let i = 0; i < n; i++) {
      ofSequences.sample(BATCH, sequences);
      table.updatePriorities(sequences.into.keys, ofSequences.prioritiesOf(sequences.into, errors, ofErrors));
    }
  },
  "sample into": (n) => {
    for (let i = 0; i < n; i++) table.sample(BATCH, beta);
  },
  "mixture into": (n) => {
    for (let i = 0; i < n; i++) mix.sample(BATCH, ofMix);
  },
  "mixture's updatePriorities": (n) => {
    for (let i = 0; i < n; i++) mix.updatePriorities(ofMix.into, priorities);
  },
  updatePriorities: (n) => {
    for (let i = 0; i < n; i++) table.updatePriorities(keys, priorities);
  },
};
const growth = Object.fromEntries(Object.entries(calls).map(([name, side]) => [name, heapGrowth(side, CALLS)]));
// A batch in use must keep only its own memory alive, and not its Replay.
function drawn() {
  const short = new Replay({ spec: { observation: f32(4), action: i32(), reward: f32() }, tables: { t: { maxSize: 1000 } } });
  const writer = short.writer({ items: [{ table: "t", nStep: 2 }] });
  for (let i = 0; i < 20; i++) writer.append(step);
  const own = short.table("t");
  const kept = [own.sample(4), own.sample(50, { replacement: false, mask: true }), own.transitions({ gamma: 1 }).sample(4)];
  return { kept, replay: new WeakRef(short) };
}
const { kept, replay: gone } = drawn();
// Conversely, a Replay must not keep an unused batch alive, except the last refilled batch.
const forgotten = [{ into: table.batch(BATCH, { length: 2 }) }, { recycle: true }, {}].map((options) => new WeakRef(table.sample(BATCH, options)));
await new Promise((resolve) => setTimeout(resolve));
globalThis.gc();
const isForgotten = forgotten.every((batch) => batch.deref() === undefined);
const isFreed = gone.deref() === undefined && kept.every((batch) => batch.count > 0 && batch.toArray().length === batch.count);

// Returns whether V8 stores an object in its fast form. The syntax is valid only with the flag, so the function is created from a string.
const fast = new Function("object", "return %HasFastProperties(object)");
console.log(JSON.stringify({ growth, isFreed, isForgotten, fast: [ruled, plain, replay.writer()].map((writer) => fast(writer.staged)) }));
