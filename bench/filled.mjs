/** Creates filled structures for measurements: a Replay whose table has n items, and rivals with n steps. */
import { fifo, opened, prioritized, Replay, uniform } from "./package.mjs";
import { Random } from "./random.mjs";
import { ColumnRing } from "./rivals/column-ring.mjs";
import { block, SOURCE_STEPS, source, spec } from "./source.mjs";

/** The priority exponent. Learners use an exponent below 1. With 1, neither side would have to compute a power. */
export const EXPONENT = 0.6;
const BLOCK = 4096;

/**
 * Returns a full table of n items of `length` steps. Each new step creates an item. Every `episode`-th discount is 0; if `episode` is 0, the source's random
 * discounts of 0 and 1 are kept.
 */
export function fullTable(n, sampler = uniform(), length = 2, episode = 0) {
  const options = optionsOf(n, { sampler });
  const replay = new Replay(options);
  return { replay, table: filled(replay, n, length, episode), plan: Replay.plan(options) };
}

/** Returns a full table of two-step items in a Replay with a journal in `dir`. */
export async function journaledTable(dir, n, sampler = uniform()) {
  const replay = await opened({ ...optionsOf(n, { sampler }), dir });
  const table = filled(replay, n, 2, 0);
  await replay.flush();
  return table;
}

/** Returns a full table of two-step items with any table options. */
export function tableWith(n, options) {
  const replay = new Replay(optionsOf(n, options));
  return { replay, table: filled(replay, n, 2, 0) };
}

function optionsOf(n, options) {
  return { spec, tables: { t: { maxSize: n, remover: fifo(), ...options } }, seed: 1, logger: null };
}

function filled(replay, n, length, episode) {
  const writer = replay.writer({ items: [{ table: "t", length }] });
  const random = new Random(7);
  const columns = block(source().columns, BLOCK);
  if (episode > 0) columns.discount = columns.discount.map((_, i) => Number(i % episode !== 0));
  // Appends slightly more than n steps, so that every slot has been used and the next item evicts another one.
  for (let steps = 0; steps < n + 2 * BLOCK; steps += BLOCK) {
    writer.appendColumns(columns, { priorities: { t: Float64Array.from({ length: BLOCK }, () => priority(random)) } });
  }
  writer.close();
  return replay.table("t");
}

export const prioritizedTable = (n) => fullTable(n, prioritized(EXPONENT));

/** Returns a random priority above 0, like the absolute value of a TD error. */
export function priority(random) {
  return random.next() + 0.01;
}

export function fullRing(n) {
  const ring = new ColumnRing(n);
  fillRing(ring, source().columns, n + 1);
  return ring;
}

/** Appends n steps to a ring one by one. All cases that compare appending with a ring time this loop. */
export function fillRing(ring, { observation, action, reward, discount, stepType }, n) {
  for (let k = 0; k < n; k++) {
    const i = k & (SOURCE_STEPS - 1);
    const o = 4 * i;
    ring.append(observation[o], observation[o + 1], observation[o + 2], observation[o + 3], action[i], reward[i], discount[i], stepType[i]);
  }
}
