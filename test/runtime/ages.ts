/** Computes the digest of draws by age: among the newest items, with a sampler that prefers newer items, and in epochs, while items are replaced. */
import { type Among, fifo, i32, lifo, maxHeap, prioritized, Replay, recency, type SampleOptions, uniform } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { Sink } from "./sink.ts";

const STEPS = 1200;
const TABLES = {
  uniform: { maxSize: 60 },
  weighted: { maxSize: 50, sampler: prioritized(0.7) },
  recent: { maxSize: 70, sampler: recency({ exponent: 0.8 }) },
  any: { maxSize: 40, sampler: recency({ exponent: 2.5 }), remover: uniform() },
  best: { maxSize: 30, sampler: recency(), remover: maxHeap() },
  first: { maxSize: 20, sampler: fifo(), remover: lifo() },
} as const;
type Name = keyof typeof TABLES;
const NAMES = Object.keys(TABLES) as Name[];

export async function agesDigest(module?: WebAssembly.Module): Promise<string> {
  const sink = new Sink();
  const random = new TestRandom(19);
  const how = module === undefined ? { logger: null } : { module, logger: null };
  let replay = new Replay({ spec: { id: i32() }, tables: TABLES, seed: 6, ...how });
  let writer = replay.writer({ items: NAMES.map((table) => ({ table, length: 1 })) });
  const epochs = (states: { readonly [name: string]: object } = {}) =>
    NAMES.map((name) => {
      const options = name in states ? { state: states[name] as never } : { seed: name.length, shuffle: name !== "first" };
      return replay.table(name).dataset({ batchSize: 7, epochs: 3, ...options });
    });
  let datasets = epochs();
  for (let t = 0; t < STEPS; t++) {
    if (t === STEPS >> 1) {
      const states = Object.fromEntries(NAMES.map((name, i) => [name, datasets[i]?.state() as object]));
      const chunks = [...replay.snapshot()];
      for (const chunk of chunks) sink.array(chunk);
      replay.dispose();
      replay = Replay.restore(chunks, how) as never;
      writer = replay.writers[0] as never;
      datasets = epochs(states);
    }
    writer.append({ id: t });
    if (t % 3 > 0) continue;
    const at = random.below(NAMES.length);
    const table = replay.table(NAMES[at] as Name);
    const { info, count } = table.sample(1 + random.below(9), optionsOf(random, t));
    sink.nest([info, count]);
    if (random.below(3) === 0) table.delete(info.keys);
    for (const { steps, info, count } of datasets[at] as (typeof datasets)[number]) {
      sink.nest([steps, info, count]);
      break;
    }
    sink.value({ ...datasets[at]?.state() });
    await sink.drain();
  }
  replay.dispose();
  return sink.digest();
}

function optionsOf(random: TestRandom, t: number): Pick<SampleOptions, "among" | "replacement" | "stratified"> {
  const k = random.below(2) === 0 ? 1 + random.below(12) : { share: random.pick([0.1, 0.25, 1]) };
  const among = random.pick<Among | undefined>([undefined, { newest: k }, { newest: k }]);
  const replacement = t % 2 === 0;
  return { ...(among !== undefined && { among }), replacement };
}
