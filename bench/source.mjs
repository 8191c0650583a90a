/**
 * Creates the data of all cases: a spec of 32 bytes per step, and a short run of steps that fits in the first-level cache, so that reading it slows neither
 * side.
 */
import { f32, i32 } from "./package.mjs";
import { Random } from "./random.mjs";

export const spec = { observation: f32(4), action: i32(), reward: f32(), discount: f32(), stepType: i32() };
/** The number of bytes per row. */
export const STEP_BYTES = 32;
export const STEPS = 1_000_000;
export const BATCH = 256;
/** The number of steps in the source: a power of two, so that a mask limits an index. */
export const SOURCE_STEPS = 256;

/** Returns seeded steps as flat columns, and as nested objects of the same values. */
export function source() {
  const random = new Random(42);
  const columns = {
    observation: Float32Array.from({ length: 4 * SOURCE_STEPS }, () => random.next()),
    action: Int32Array.from({ length: SOURCE_STEPS }, () => random.below(4)),
    reward: Float32Array.from({ length: SOURCE_STEPS }, () => random.next()),
    discount: Float32Array.from({ length: SOURCE_STEPS }, () => random.below(2)),
    stepType: Int32Array.from({ length: SOURCE_STEPS }, () => random.below(3)),
  };
  const steps = Array.from({ length: SOURCE_STEPS }, (_, i) => ({
    observation: columns.observation.slice(4 * i, 4 * i + 4),
    action: columns.action[i],
    reward: columns.reward[i],
    discount: columns.discount[i],
    stepType: columns.stepType[i],
  }));
  return { columns, steps };
}

/** Returns columns of n steps that repeat the source. */
export function block(columns, n) {
  const repeat = (array, size) => array.constructor.from({ length: n * size }, (_, i) => array[i % array.length]);
  return Object.fromEntries(Object.entries(columns).map(([name, array]) => [name, repeat(array, array.length / SOURCE_STEPS)]));
}
