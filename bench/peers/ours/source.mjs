/** Creates the transitions that all variants and libraries store: 41 bytes in five leaves. */
import { bool, f32, fifo, i32, Replay, uniform } from "../../package.mjs";
import { Random } from "../../random.mjs";

export const ALPHA = 0.6;
export const BETA = 0.4;
/** The number of steps per episode. The last of them is done. */
const EPISODE = 1000;
/** The number of steps per append, which is also the number of distinct steps. */
export const BLOCK = 1000;
/** The number of precomputed batches of priorities. It is a power of two, so that a mask limits an index. */
const SETS = 16;

/** Returns a priority like a TD error: above 0, of varying size. */
const priority = (random) => random.next() + 0.01;

export const spec = () => ({ observation: f32(4), action: i32(), reward: f32(), nextObservation: f32(4), done: bool() });

/** Returns BLOCK transitions as columns. */
export function columns() {
  const random = new Random(42);
  return {
    observation: Float32Array.from({ length: 4 * BLOCK }, () => random.next()),
    action: Int32Array.from({ length: BLOCK }, () => random.below(4)),
    reward: Float32Array.from({ length: BLOCK }, () => random.next()),
    nextObservation: Float32Array.from({ length: 4 * BLOCK }, () => random.next()),
    done: Uint8Array.from({ length: BLOCK }, (_, i) => Number(i % EPISODE === EPISODE - 1)),
  };
}

/** Returns a full table of `steps` items of one step each, with priorities if the sampler uses them. */
export function transitions(steps, sampler = uniform()) {
  const replay = new Replay({ spec: spec(), tables: { t: { maxSize: steps, sampler, remover: fifo() } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const block = columns();
  const random = new Random(7);
  for (let k = 0; k < steps; k += BLOCK) {
    writer.appendColumns(block, { priorities: { t: Float64Array.from({ length: BLOCK }, () => priority(random)) } });
  }
  writer.close();
  return { replay, table: replay.table("t") };
}

export function prioritySets(batch) {
  const random = new Random(11);
  return Array.from({ length: SETS }, () => Float64Array.from({ length: batch }, () => priority(random)));
}

/** Returns columns by name as [name, dtype, shape, bytes], so that variants with other work are rejected. */
export const described = (leaves) => Object.entries(leaves).map(([name, { data, shape }]) => [name, dtypeOf(data), [...shape], data.byteLength]);

function dtypeOf({ constructor: { name } }) {
  const [, kind, bits] = name.match(/^(Big)?(?:Float|Int|Uint|Uint8Clamped)?(\d+)Array$/) ?? [];
  return `${kind ?? ""}${{ F: "f", I: "i", U: "u", B: "i" }[name[0]]}${bits}`.replace("Big", "");
}
