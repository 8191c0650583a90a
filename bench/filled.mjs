/** Creates filled structures to measure: a Replay with a table of n two-step items, and its rivals with the same number of steps. */
import { fifo, opened, prioritized, Replay, uniform } from "./package.mjs";
import { Random } from "./random.mjs";
import { ColumnRing } from "./rivals/column-ring.mjs";
import { block, SOURCE_STEPS, source, spec } from "./source.mjs";

/** Learners use an exponent. An exponent of 1 would save both sides the power. */
export const EXPONENT = 0.6;
const BLOCK = 4096;

/**
 * Returns a full table of n items of two or more steps. Each new step creates an item. `episode` is the number of steps until a discount of 0; without it,
 * discounts are 0 or 1 at random.
 */
export function fullTable(n, sampler = uniform(), length = 2, episode = 0) {
  const options = optionsOf(n, { sampler });
  const replay = new Replay(options);
  return { replay, table: filled(replay, n, length, episode), plan: Replay.plan(options) };
}

/** Returns the same table with a journal in a directory. */
export async function journaledTable(dir, n, sampler = uniform()) {
  const replay = await opened({ ...optionsOf(n, { sampler }), dir });
  const table = filled(replay, n, 2, 0);
  await replay.flush();
  return table;
}

/** Returns a full table with options other than a sampler. */
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
  // Appends a little more than one round: every slot has been used, and the next item evicts another.
  for (let steps = 0; steps < n + 2 * BLOCK; steps += BLOCK) {
    writer.appendColumns(columns, { priorities: { t: Float64Array.from({ length: BLOCK }, () => priority(random)) } });
  }
  writer.close();
  return replay.table("t");
}

export const prioritizedTable = (n) => fullTable(n, prioritized(EXPONENT));

/** Returns a priority like a TD error: above 0, of varying size. */
export function priority(random) {
  return random.next() + 0.01;
}

export function fullRing(n) {
  const ring = new ColumnRing(n);
  fillRing(ring, source().columns, n + 1);
  return ring;
}

/** Appends n steps one by one. It is a separate function, because all rows with this rival time the same loop. */
export function fillRing(ring, { observation, action, reward, discount, stepType }, n) {
  for (let k = 0; k < n; k++) {
    const i = k & (SOURCE_STEPS - 1);
    const o = 4 * i;
    ring.append(observation[o], observation[o + 1], observation[o + 2], observation[o + 3], action[i], reward[i], discount[i], stepType[i]);
  }
}
