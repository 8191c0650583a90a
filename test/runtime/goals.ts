/** Computes the digest of draws with hindsight goals: runs a fixed script of episodes with goals, and hashes every batch, before and after a restore. */
import { bool, f16, f32, packed, prioritized, type RelabelledSteps, Replay, shared, u8, type Writer } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { Sink } from "./sink.ts";

const OPS = 600;
const LANES = 2;

const spec = {
  observation: { place: f16(3), desired: f16(3), screen: packed("screens", u8(16, 16)), wanted: shared("wanted", u8(16, 16)) },
  action: f32(),
  reward: f32(),
  over: bool(),
};
const tables = { memory: { maxSize: 200, sampler: prioritized(0.6) }, once: { maxSize: 60, maxTimesSampled: 3 } };
const transition = { terminated: "over" };
type World = Replay<typeof spec, "memory" | "once">;

/** Returns the digest. @param module the build of the core to use instead of the build in the package */
export async function goalsDigest(module?: WebAssembly.Module): Promise<string> {
  const sink = new Sink();
  const random = new TestRandom(19);
  let replay = new Replay({ spec, tables, transition, seed: 6, module, logger: null }) as World;
  const items = [{ table: "memory", nStep: 2 } as const, { table: "once", length: 2 } as const];
  replay.writer({ items });
  replay.writer({ lanes: LANES, autoreset: "sameStep", items });
  for (let i = 0; i < OPS; i++) {
    if (i === OPS >> 1) {
      const chunks = [...replay.snapshot()];
      replay.dispose();
      replay = Replay.restore(chunks, { module: module as WebAssembly.Module, logger: null }) as unknown as World;
    }
    write(random, random.pick(replay.writers) as Writer);
    if (i % 3 === 2) read(random, replay, sink);
    await sink.drain();
  }
  replay.dispose();
  return sink.digest();
}

/** Appends several steps to every lane. Sometimes the last step ends a lane's episode. */
function write(random: TestRandom, writer: Writer): void {
  const { lanes } = writer.options;
  const steps = (n: number) => {
    const numbers = (size: number, range: number) => Float32Array.from({ length: n * size }, () => random.below(range) / 8);
    const screens = Uint8Array.from({ length: n * 256 }, (_, i) => (i % 256 < 40 ? random.below(4) : 7));
    return {
      observation: { place: numbers(3, 64), desired: numbers(3, 64), screen: screens, wanted: new Uint8Array(n * 256).fill(random.below(3)) },
      action: numbers(1, 16),
      reward: numbers(1, 16),
      over: Uint8Array.from({ length: n }, () => Number(random.below(20) === 0)),
    };
  };
  const rows = lanes * (1 + random.below(4));
  const terminated = Array.from({ length: rows }, (_, r) => r >= rows - lanes && random.below(9) === 0);
  const truncated = terminated.map((one, r) => !one && r >= rows - lanes && random.below(9) === 0);
  const ended = terminated.filter((one, r) => one || truncated[r]).length;
  writer.appendColumns(steps(rows), { terminated, truncated, ...(ended > 0 && { final: steps(ended) }) });
}

function read(random: TestRandom, { tables: { memory, once } }: World, sink: Sink): void {
  const table = random.pick([memory, once]);
  if (table.size < 8) return;
  const reward = ({ achieved, goal, rows, steps }: RelabelledSteps) => {
    for (const { data } of [achieved, goal]) sink.array(data as Uint8Array);
    sink.array(rows);
    sink.array(steps);
    const size = achieved.data.length / rows.length;
    return Float32Array.from(rows, (_, i) => (achieved.data[size * i] as number) - (goal.data[size * i] as number));
  };
  const isImage = random.below(2) === 0;
  const view = (table as typeof memory).transitions({
    gamma: 0.97,
    dtype: random.pick(["f32", "f64"]),
    relabel: {
      goal: isImage ? "observation.wanted" : "observation.desired",
      achieved: isImage ? "observation.screen" : "observation.place",
      strategy: random.pick(["future", "final", "episode"]),
      share: random.pick([0.5, 0.8, 1]),
      reward: random.below(4) === 0 ? "stored" : reward,
    } as never,
  });
  const { observation, nextObservation, relabelled, returns, discounts, steps, terminated, truncated, keys } = view.sample(1 + random.below(6));
  for (const { desired, wanted } of [observation, nextObservation]) for (const { data } of [desired, wanted]) sink.array(data);
  for (const { data } of [relabelled, returns, discounts, steps, terminated, truncated]) sink.array(data as Float32Array);
  sink.array(keys);
  if (random.below(3) === 0) table.delete(keys.subarray(0, 1));
}
