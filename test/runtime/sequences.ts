/** Computes the digest of sequences: rules within and across episodes, every kind of end, a snapshot in the middle, and the columns that views add. */
import { f32, i32, prioritized, Replay, shared, type Writer } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { Sink } from "./sink.ts";

const OPS = 400;
const LANES = 2;

const spec = { observation: f32(3), action: i32(), reward: f32(), factor: f32(), hidden: shared("hidden", f32(2)) };
const tables = { episodes: { maxSize: 60, sampler: prioritized(0.9, { withMin: true }) }, chunks: { maxSize: 40 } };

function steps(random: TestRandom, n: number) {
  const numbers = (count: number) => Float32Array.from({ length: count }, () => random.next() - 0.5);
  return {
    observation: numbers(3 * n),
    action: Int32Array.from({ length: n }, () => random.below(5)),
    reward: numbers(n),
    factor: Float32Array.from({ length: n }, () => (random.below(9) === 0 ? 0 : 1)),
    hidden: numbers(2 * n),
  };
}

export async function sequencesDigest(module?: WebAssembly.Module): Promise<string> {
  const random = new TestRandom(81);
  const sink = new Sink();
  let replay = new Replay({ spec, tables, transition: { discount: "factor" }, seed: 5, module, logger: null });
  const sequence = { length: 9, burnIn: 3, stride: 2 };
  replay.writer({ items: [{ table: "episodes", sequence }], lanes: LANES, autoreset: "nextStep" });
  replay.writer({ items: [{ table: "chunks", sequence: { length: 8, burnIn: 1 } }], across: true, lanes: 1 });
  for (let i = 0; i < OPS; i++) {
    if (i === OPS >> 1) {
      const chunks = [...replay.snapshot()];
      for (const chunk of chunks) sink.array(chunk);
      replay.dispose();
      replay = Replay.restore(chunks, { module: module as WebAssembly.Module, logger: null }) as unknown as typeof replay;
    }
    if (random.below(3) > 0) write(random, random.pick(replay.writers) as Writer, sink);
    else read(random, replay.tables, sink);
    sink.value(replay.stats().tables);
    await sink.drain();
  }
  for (const writer of replay.writers) writer.close();
  sink.value(replay.stats().tables);
  replay.dispose();
  return sink.digest();
}

function write(random: TestRandom, writer: Writer, sink: Sink): void {
  const { lanes, autoreset } = writer.options;
  const rows = lanes * (1 + random.below(5));
  const flags = () => Array.from({ length: rows }, () => random.below(9) === 0);
  const ends = { terminated: flags(), truncated: flags() };
  const ended = ends.terminated.filter((one, r) => one || ends.truncated[r]).length;
  try {
    sink.number(writer.appendColumns(steps(random, rows), { ...ends, ...(autoreset !== "nextStep" && ended > 0 && { final: steps(random, ended) }) }));
  } catch (error) {
    sink.text((error as { code?: string }).code ?? (error as Error).name);
  }
}

function read(random: TestRandom, tables: Replay<typeof spec, "episodes" | "chunks">["tables"], sink: Sink): void {
  const table = random.pick([tables.episodes, tables.chunks]);
  if (table.size === 0) return;
  const view = table.sequences({ gamma: 0.97, n: 1 + random.below(5), dtype: random.pick(["f32", "f64"]), state: ["hidden"] });
  const batch = view.sample(1 + random.below(8), { beta: random.next() });
  const { observation, action, reward, factor, hidden, returns, discounts, bootstraps, mask, learningMask, isFirst, isLast, isTerminal, weights, keys } = batch;
  for (const { data } of [
    observation,
    action,
    reward,
    factor,
    hidden,
    returns,
    discounts,
    bootstraps,
    mask,
    learningMask,
    isFirst,
    isLast,
    isTerminal,
    weights,
  ])
    sink.array(data as Float32Array);
  sink.array(keys);
  const errors = Float32Array.from({ length: mask.data.length }, () => random.next() * 4);
  const priorities = view.prioritiesOf(batch, errors);
  sink.array(priorities);
  table.updatePriorities(keys, priorities);
}
