/** Checks that functions that reject shared memory accept batches and snapshots, which own their memory. Input values may be shared. */
import { f32, Replay, text } from "reprise";

const replay = new Replay({ spec: { x: f32(3), name: text({ maxBytes: 8 }) }, tables: { memory: { maxSize: 1 } } });
const batch = replay.tables.memory.sample(1, { beta: 1, mask: true, nStep: { n: 1, gamma: 1, reward: "x" } });

export const x: Float32Array<ArrayBuffer> = batch.steps.x.data;
export const memory: ArrayBuffer = batch.info.keys.buffer;
export const rest: ArrayBuffer[] = [batch.info.weights.buffer, batch.mask.buffer, batch.nStep.returns.buffer, batch.lengths.buffer];
export const chunks: Uint8Array<ArrayBuffer>[] = [...replay.snapshot()];

const shared = new Float32Array(new SharedArrayBuffer(12));
replay.writer().append({ x: shared, name: "a" });
replay.writer().appendColumns({ x: shared, name: ["a"] });
const own = { ...batch, steps: { ...batch.steps, x: { data: shared, shape: [1, 1, 3] } }, lengths: new Uint32Array(new SharedArrayBuffer(4)) };
replay.tables.memory.sample(1, { into: own });
