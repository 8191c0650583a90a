/** Runs a random program on a random Replay. The same seed makes the same calls. An inspector may inspect the Replay between two calls. */
import {
  f32,
  fifo,
  i32,
  lifo,
  maxHeap,
  minHeap,
  minSize,
  prioritized,
  queueLimiter,
  Replay,
  type Selector,
  sampleToInsertRatio,
  type Table,
  text,
  u8,
  uniform,
} from "../../../src/index.ts";
import { TestRandom } from "../../support/random.ts";

const SELECTORS: readonly Selector[] = [fifo(), lifo(), uniform(), prioritized(0.7), prioritized(1, { withMin: true }), minHeap(), maxHeap()];

export const spec = { image: u8(12, 10), wide: f32(300), pose: f32(3), action: i32(), reward: f32(), task: text({ maxBytes: 16 }) };

/** The results of the program, for comparison. */
export interface Done {
  readonly told: string[];
  readonly snapshot: Buffer;
}

/** @param look is called between any two calls */
export function play(seed: number, calls: number, look: (replay: Replay, random: TestRandom) => void): Done {
  const random = new TestRandom(seed);
  // The inspector uses separate random numbers, so that the program's numbers do not change.
  const looker = new TestRandom(seed + 1);
  const limiter = random.pick([minSize(1), minSize(5), sampleToInsertRatio(2, 4, 40), queueLimiter(20)]);
  const table = (maxSize: number) => ({
    maxSize,
    sampler: random.pick(SELECTORS),
    remover: random.pick([fifo(), ...SELECTORS]),
    rateLimiter: limiter,
    ...(random.below(3) === 0 && { maxTimesSampled: 1 + random.below(4) }),
    ...(random.below(4) === 0 && { maxSteps: 30 + random.below(60) }),
  });
  const lanes = random.pick([1, 1, 3]);
  const replay = new Replay({ spec, tables: { one: table(8 + random.below(60)), two: table(600) }, seed, logger: null });
  const items = [
    { table: "one", length: 1 + random.below(3) },
    { table: "two", length: 2, stride: 1, priority: 0.5 },
  ] as const;
  const writer = replay.writer({ items, lanes, across: random.below(4) === 0 });
  const told: string[] = [];
  let steps = 0;
  const number = () => random.next() * 4 - 1;
  const step = () => {
    steps++;
    return {
      image: Uint8Array.from({ length: 120 }, () => random.below(256)),
      wide: new Float32Array(300).fill(steps),
      pose: [number(), number(), number()],
      action: steps,
      reward: number(),
      task: `task ${steps % 5}`,
    };
  };
  const tables = Object.values(replay.tables) as Table[];
  for (let call = 0; call < calls; call++) {
    look(replay, looker);
    const at = random.pick(tables);
    try {
      const kind = random.below(12);
      if (kind < 6) {
        const all = Array.from({ length: lanes }, step);
        const columns = Object.fromEntries(Object.keys(spec).map((key) => [key, all.map((one) => one[key as keyof typeof spec])]));
        writer.append((lanes === 1 ? all[0] : columns) as never);
      } else if (kind === 6) writer.endEpisode(lanes === 1 ? random.pick([{}, { final: { pose: [9, 9, 9] }, terminated: true }, {}]) : {});
      else if (kind === 7) told.push(String(at.delete([at.size * 3, ...keysOf(at, random)])));
      else if (kind === 8) told.push(String(at.updatePriorities(keysOf(at, random), [random.below(3), 1, 2])));
      else if (kind === 9 && random.below(30) === 0) at.clear();
      else {
        const { count, info, lengths, steps, blocked } = at.sample(1 + random.below(12));
        told.push(JSON.stringify([count, info, lengths, blocked, steps.reward?.data, steps.task?.data]));
        at.updatePriorities(
          info.keys,
          info.keys.map(() => random.next() * 3),
        );
      }
    } catch (error) {
      told.push(String(error));
    }
    told.push(JSON.stringify(replay.stats()));
  }
  const snapshot: Uint8Array[] = [];
  // The inspector also looks between chunks, while scratch memory contains the next chunk.
  for (const chunk of replay.snapshot()) {
    snapshot.push(chunk);
    look(replay, looker);
  }
  return { told, snapshot: Buffer.concat(snapshot) };
}

function keysOf(table: Table, random: TestRandom): number[] {
  return Array.from({ length: 3 }, () => (random.below(20) + 1) * (table.name === "one" ? 128 : 2048) + random.below(64));
}
