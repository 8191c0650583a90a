/** Checks the types of rules, ends of episodes and views of transitions: which options belong together, and which exclude each other. */
import { type Column, f32, i32, prioritized, Replay, type Table, type TransitionBatch, type Transitions, u8, type Writer } from "reprise";

const replay = new Replay({
  spec: { obs: { image: u8(2, 2), speed: f32() }, move: i32(), gain: f32(), mask: u8(2) },
  tables: { memory: { maxSize: 100, sampler: prioritized(0.6) } },
  transition: { observation: "obs", action: "move", reward: "gain" },
});
const { memory } = replay.tables;
const step = { obs: { image: [1, 2, 3, 4], speed: 0 }, move: 1, gain: 0, mask: [1, 1] } as const;

const writer = replay.writer({ items: [{ table: "memory", nStep: 3, priority: "max" }] });
writer.append(step);
writer.endEpisode({ final: { obs: step.obs }, terminated: false });
writer.endEpisode({ terminated: true });
const lanes = replay.writer({ lanes: 2, items: [{ table: "memory", nStep: 1 }] });
lanes.append(
  { obs: { image: new Uint8Array(8), speed: [0, 0] }, move: [1, 1], gain: [0, 0], mask: new Uint8Array(4) },
  { terminated: [true, false], truncated: [0, 1], final: { obs: { image: new Uint8Array(8), speed: [0, 0] } } },
);
replay.writer({ items: [{ table: "memory", length: 2, stride: 1 }] });

// @ts-expect-error steps of a transition or rows of an item, not both
replay.writer({ items: [{ table: "memory", nStep: 3, length: 4 }] });
// @ts-expect-error a transition has all that it needs
replay.writer({ items: [{ table: "memory", nStep: 3, stride: 2 }] });
// @ts-expect-error neither
replay.writer({ items: [{ table: "memory" }] });
// @ts-expect-error no such priority
replay.writer({ items: [{ table: "memory", nStep: 3, priority: "min" }] });
// @ts-expect-error no such leaf
writer.endEpisode({ final: { observation: [1] }, terminated: true });
// @ts-expect-error a flag
writer.endEpisode({ terminated: "yes" });

const transitions = memory.transitions({ gamma: 0.99, next: ["mask"] });
const batch = transitions.sample(32, { beta: 0.4 });
export const image: [number, 2, 2] = batch.observation.image.shape;
export const following: Column<"f32", [number]> = batch.nextObservation.speed;
export const moves: Int32Array<ArrayBuffer> = batch.action.data;
export const returns: Column<"f32", [number]> = batch.returns;
export const masks: [number, 2] = batch.nextMask.shape;
export const exact: Float64Array = memory.transitions({ gamma: 1, dtype: "f64" }).sample(1).returns.data;
memory.updatePriorities(
  batch.keys,
  batch.weights.data.map((x) => x + 1),
);
// @ts-expect-error gamma is required
memory.transitions({ n: 1 });
// @ts-expect-error no such leaf
memory.transitions({ gamma: 1, next: ["masks"] });
// @ts-expect-error no weights without beta
transitions.sample(32).weights;
// @ts-expect-error no such option
transitions.sample(32, { bata: 0.4 });

export function anySpec(table: Table, writer: Writer): number | undefined {
  writer.endEpisode({ final: { anything: 1 }, terminated: false });
  const { returns, observation } = table.transitions({ gamma: 0.9 }).sample(1);
  return observation.shape[0] ?? returns.shape[0];
}
anySpec(memory, writer);

class Learner {
  constructor(readonly view: Transitions) {}
  learn(batch: TransitionBatch): number {
    return batch.returns.at(0) + batch.observation.image.data[0] + batch.toArray().length;
  }
}
export const learned: number = new Learner(transitions).learn(batch);
export const plain: { readonly speed: number; readonly image: number[][] } | undefined = batch.toArray()[0]?.observation;
export const errors: number[] = batch.toArray().map(({ returns, weights }) => returns * weights);

const spec = { observation: f32(2), action: i32(), reward: f32() };
const plainReplay = new Replay({ spec, tables: { memory: { maxSize: 9 } } });
function target({ returns, nextObservation }: TransitionBatch<typeof spec>): [number, 2] {
  return returns.data.length > 0 ? nextObservation.shape : [0, 2];
}
target(plainReplay.tables.memory.transitions({ gamma: 1 }).sample(1));
target(plainReplay.tables.memory.transitions({ gamma: 1, dtype: "f64", next: ["action"] }).sample(1, { beta: 1 }));
