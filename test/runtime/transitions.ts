/** Computes the last part of the digest: episodes that end in every way, and their transitions in views. */
import { f32, i32, prioritized, Replay, u8, type Writer } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import type { Sinks } from "./script.ts";
import type { Sink } from "./sink.ts";

const OPS = 1500;
const LANES = 3;

const spec = { observation: { state: f32(3), mask: u8(2) }, action: i32(), reward: f32() };
const tables = { memory: { maxSize: 300, sampler: prioritized(0.6, { withMin: true }) }, pairs: { maxSize: 60 } };

function steps(random: TestRandom, n: number) {
  const numbers = (count: number) => Float32Array.from({ length: count }, () => random.next() - 0.5);
  return {
    observation: { state: numbers(3 * n), mask: Uint8Array.from({ length: 2 * n }, () => random.below(2)) },
    action: Int32Array.from({ length: n }, () => random.below(5)),
    reward: numbers(n),
  };
}

export async function playTransitions({ outputs, snapshots }: Sinks, module: WebAssembly.Module | undefined): Promise<void> {
  const random = new TestRandom(77);
  let replay = new Replay({ spec, tables, seed: 5, module, logger: null });
  const items = [{ table: "memory", nStep: 3 } as const, { table: "pairs", nStep: 1 } as const];
  replay.writer({ items });
  replay.writer({ lanes: LANES, autoreset: "nextStep", items });
  replay.writer({ lanes: LANES, autoreset: "sameStep", items });
  outputs.text("transitions");
  for (let i = 0; i < OPS; i++) {
    if (i === OPS >> 1) {
      const chunks = [...replay.snapshot()];
      for (const chunk of chunks) snapshots.array(chunk);
      replay.dispose();
      replay = Replay.restore<typeof spec, "memory" | "pairs">(chunks, { module: module as WebAssembly.Module, logger: null }) as never;
    }
    if (random.below(3) > 0) write(random, random.pick(replay.writers) as Writer, outputs);
    else read(random, replay.tables, outputs);
    outputs.value(replay.stats().tables);
    await outputs.drain();
  }
  replay.dispose();
}

/** Writes a step of every lane, a block, or an end. Every runtime rejects the same calls. */
function write(random: TestRandom, writer: Writer, sink: Sink): void {
  const { lanes, autoreset } = writer.options;
  const flags = (n: number) => Array.from({ length: n }, () => random.below(7) === 0);
  try {
    if (lanes === 1 && random.below(5) === 0) {
      const terminated = random.below(2) === 0;
      writer.endEpisode(terminated && random.below(3) === 0 ? { terminated } : { terminated, final: { observation: steps(random, 1).observation } });
    } else if (lanes === 1 && random.below(2) === 0) {
      const { observation, action, reward } = steps(random, 1);
      writer.append({ observation, action: action[0], reward: reward[0] });
    } else {
      const rows = lanes * (1 + random.below(4));
      const ends = { terminated: flags(rows), truncated: flags(rows) };
      const ended = ends.terminated.filter((one, r) => one || ends.truncated[r]).length;
      const final = autoreset === "nextStep" || ended === 0 ? {} : { final: steps(random, ended) };
      sink.number(writer.appendColumns(steps(random, rows), { ...ends, ...final }));
    }
  } catch (error) {
    sink.text((error as { code?: string }).code ?? (error as Error).name);
  }
}

function read(random: TestRandom, tables: Replay<typeof spec, "memory" | "pairs">["tables"], sink: Sink): void {
  const table = random.pick([tables.memory, tables.pairs]);
  if (table.size === 0) return;
  const n = table === tables.memory ? { n: 1 + random.below(3) } : {};
  const view = table.transitions({ gamma: 0.97, ...n, dtype: random.pick(["f32", "f64"]), next: ["action"] });
  const batch = view.sample(1 + random.below(12), random.below(2) === 0 ? { beta: random.next() } : {});
  const { observation, nextObservation, action, nextAction, returns, discounts, steps, terminated, truncated, keys } = batch;
  for (const { state, mask } of [observation, nextObservation]) for (const { data } of [state, mask]) sink.array(data);
  for (const { data } of [action, nextAction, returns, discounts, steps, terminated, truncated]) sink.array(data as Float32Array);
  if ("weights" in batch) sink.array((batch.weights as { data: Float32Array }).data);
  sink.array(keys);
  table.updatePriorities(
    keys,
    Float64Array.from(keys, () => random.next() * 4),
  );
}
