/** Checks that shapes are as concrete as the spec, and can be passed to other libraries: TensorFlow.js requires tuples that are not readonly. */
import { f32, f64, i32, i64, Replay, shared, text, u8 } from "reprise";

const spec = {
  observation: { image: shared("frame", u8(84, 84), 4), matrix: f32(3, 4), list: [f32(2), i64()] },
  action: i32(),
  reward: f64(),
  words: text({ maxBytes: 8 }, 2),
} as const;
const { memory } = new Replay({ spec, tables: { memory: { maxSize: 1 } } }).tables;
const { steps, lengths } = memory.sample(32);

export const matrix: [number, number, 3, 4] = steps.observation.matrix.shape;
export const stack: [number, number, 4, 84, 84] = steps.observation.image.shape;
export const listed: [number, number, 2] = steps.observation.list[0].shape;
export const one: [number, number] = steps.action.shape;
export const words: [number, number, 2] = steps.words.shape;
export const said: string[] = steps.words.data;
export const big: BigInt64Array = steps.observation.list[1].data;
export const counts: Uint32Array = lengths;

const columns = {
  first: { leaf: "observation.matrix", at: 0 },
  next: { leaf: "observation.matrix", at: "bootstrap" },
  last: { leaf: "reward", at: -1 },
  pair: { leaf: "reward", steps: [0, -1] },
  run: { leaf: "observation.image", from: -2 },
} as const;
const chosen = memory.sample(32, { columns, nStep: { n: 3, gamma: 0.99, reward: "reward" } });
export const first: [number, 3, 4] = chosen.steps.first.shape;
export const next: [number, 3, 4] = chosen.steps.next.shape;
export const last: [number] = chosen.steps.last.shape;
export const pair: [number, number] = chosen.steps.pair.shape;
export const run: [number, number, 4, 84, 84] = chosen.steps.run.shape;
export const returns: Float64Array = chosen.nStep.returns;

const inline = memory.sample(32, { columns: { now: { leaf: "observation.matrix", at: 0 }, all: { leaf: "action" } } });
export const now: [number, 3, 4] = inline.steps.now.shape;
export const all: [number, number] = inline.steps.all.shape;

// The declarations of TensorFlow.js.
type Shapes = {
  R0: number[];
  R1: [number];
  R2: [number, number];
  R3: [number, number, number];
  R4: [number, number, number, number];
  R5: [number, number, number, number, number];
};
declare function tensor<R extends keyof Shapes>(values: Float32Array | Int32Array | Uint8Array, shape?: Shapes[R], dtype?: "float32" | "int32"): R;
declare function tensor3d(values: Float32Array, shape?: [number, number, number]): void;
declare function tensor4d(values: Float32Array, shape?: [number, number, number, number]): void;
export const made = [
  tensor(steps.observation.matrix.data, steps.observation.matrix.shape),
  tensor(steps.observation.image.data, steps.observation.image.shape, "int32"),
  tensor(chosen.steps.first.data, chosen.steps.first.shape),
  tensor(steps.action.data, steps.action.shape),
];
tensor4d(steps.observation.matrix.data, steps.observation.matrix.shape);
tensor3d(chosen.steps.first.data, chosen.steps.first.shape);
// @ts-expect-error another rank
tensor3d(steps.observation.matrix.data, steps.observation.matrix.shape);
// @ts-expect-error tensors do not hold numbers of 64 bits
tensor(steps.reward.data, steps.reward.shape);
// @ts-expect-error another size
export const wrong: [number, number, 4, 3] = steps.observation.matrix.shape;
