/**
 * Compares batches of sequences with general samples of the same items. Both copy every leaf of every step. A view also computes the learning columns of each
 * step.
 */

import { counting } from "../measure.mjs";
import { f32, fifo, i32, Replay, uniform } from "../package.mjs";
import { Random } from "../random.mjs";

const [BATCH, LENGTH, STRIDE, WIDTH] = [32, 81, 40, 64];
/** The number of items in a full table, whose steps take about 21 MB. */
const ITEMS = 2_000;
/** The number of steps per episode. Only the last sequence of an episode is shorter than LENGTH. */
const EPISODE = 1_000;
/** The minimum ratio of the sample's time to the sequences' time: sequences may take 1.1 times as long. */
const LIMIT = 0.91;

function filled() {
  const spec = { observation: f32(WIDTH), action: i32(), reward: f32() };
  const replay = new Replay({ spec, tables: { t: { maxSize: ITEMS, sampler: uniform(), remover: fifo() } }, seed: 1, logger: null });
  const writer = replay.writer({ items: [{ table: "t", sequence: { length: LENGTH, burnIn: LENGTH - STRIDE - 1, stride: STRIDE } }], lanes: 1 });
  const random = new Random(7);
  const columns = {
    observation: Float32Array.from({ length: EPISODE * WIDTH }, () => random.next()),
    action: Int32Array.from({ length: EPISODE }, () => random.below(4)),
    reward: Float32Array.from({ length: EPISODE }, () => random.next()),
  };
  const truncated = new Uint8Array(EPISODE);
  truncated[EPISODE - 1] = 1;
  const final = { observation: new Float32Array(WIDTH) };
  for (let steps = 0; steps < (ITEMS + 50) * STRIDE; steps += EPISODE) writer.appendColumns(columns, { truncated, final });
  writer.close();
  return replay.table("t");
}

function against(n, isNew) {
  // Both sides share one table, because memory placement affects the times.
  let table;
  const tableOf = () => {
    table ??= filled();
    return table;
  };
  const ours = () => {
    const view = tableOf().sequences({ gamma: 0.997, n });
    const options = isNew ? {} : { into: view.batch(BATCH) };
    return counting(() => view.sample(BATCH, options));
  };
  const rival = () => {
    const options = isNew ? { length: LENGTH } : { into: tableOf().batch(BATCH, { length: LENGTH }) };
    return counting(() => tableOf().sample(BATCH, options));
  };
  const name = `${BATCH} sequences of ${LENGTH} × f32[${WIDTH}], returns of ${n}${isNew ? ", new arrays" : ""}`;
  return { name, unit: "µs/batch", rivalName: "sample of the same windows", ours, rival, limit: LIMIT };
}

export const cases = [against(1, false), against(5, false), against(5, true)];
