// Runs actors in threads, with a million steps each, through a queue that returns every step once: `npm run soak:port [-- STEPS ACTORS]`. No step may be lost
// or arrive twice, and memory must not grow.
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";
import { f32, fifo, i32, queueLimiter, Replay } from "reprise";

const [STEPS = 1_000_000, ACTORS = 4] = process.argv.slice(2).map(Number);
const ACTOR = fileURLToPath(new URL("../unit/remote/actor.mjs", import.meta.url));
const BATCH = 250;
const MB = 1 << 20;
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

const queue = { maxSize: 4000, maxTimesSampled: 1, sampler: fifo(), rateLimiter: queueLimiter(4000) };
const replay = new Replay({ spec: { actor: i32(), n: i32(), x: f32(4) }, tables: { queue } });
const begin = performance.now();
const accepted = await Promise.all(
  Array.from({ length: ACTORS }, (_, actor) =>
    replay.acceptWriter(new Worker(ACTOR, { workerData: { actor, steps: STEPS, episode: 777 } }), { items: [{ table: "queue", length: 1 }] }),
  ),
);
const next = new Array(ACTORS).fill(0);
const all = ACTORS * STEPS;
let [seen, wrong] = [0, 0];
// Memory in use after a collection, by quarters of the run until actors leave. A thread collects at unpredictable times, so its resident memory varies: only
// the minimum of a quarter can reveal a leak.
const resident = [[], [], [], []];
const held = [[], [], [], []];
while (seen < all) {
  const { steps, count } = await replay.tables.queue.sampleWhenReady(Math.min(BATCH, all - seen), { timeoutMs: 60_000 });
  const { actor, n, x } = steps;
  for (let i = 0; i < count; i++) {
    if (n.data[i] !== next[actor.data[i]]++ || x.data[4 * i] !== n.data[i]) wrong++;
  }
  seen += count;
  if (seen % (100 * BATCH) === 0) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    const { rss, heapUsed, external } = process.memoryUsage();
    const quarter = Math.ceil((4 * seen) / (0.9 * all)) - 1;
    resident[quarter]?.push(rss);
    held[quarter]?.push(heapUsed + external);
  }
}
const ends = await Promise.all(accepted.map(({ closed }) => closed));
const seconds = (performance.now() - begin) / 1000;
const { used } = replay.stats().bytes;
console.log(`${ACTORS} actors × ${STEPS} steps in ${seconds.toFixed(1)} s: ${(all / seconds / 1000).toFixed(0)} thousand steps a second`);
const least = (quarters) => quarters.map((sizes) => Math.min(...sizes));
const inMB = (sizes) => `${sizes.map((size) => (size / MB).toFixed(0)).join(", ")} MB`;
console.log(`the least of each quarter: resident ${inMB(least(resident))}; held by this thread ${inMB(least(held))}; the core: ${(used / MB).toFixed(1)} MB`);
const grows = (quarters, slack) => {
  const [, settled, , last] = least(quarters);
  return last > 1.25 * settled + slack;
};
const faults = [
  ...(wrong > 0 ? [`${wrong} steps are lost, altered or out of order`] : []),
  ...(next.some((n) => n !== STEPS) ? [`actors gave ${next.join(", ")} steps`] : []),
  ...(ends.some(({ how }) => how !== "left") ? [`actors ended so: ${ends.map(({ how }) => how).join(", ")}`] : []),
  ...(replay.tables.queue.size > 0 ? [`${replay.tables.queue.size} items are left`] : []),
  ...(grows(resident, 16 * MB) ? ["resident memory grows"] : []),
  ...(grows(held, 2 * MB) ? ["what this thread holds grows"] : []),
];
for (const fault of faults) console.error(fault);
console.log(`${faults.length === 0 ? 1 : 0} passed, ${faults.length} failed`);
process.exitCode = faults.length === 0 ? 0 : 1;
