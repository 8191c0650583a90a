// Actors in threads, a million steps each, through a queue that gives every step once: nothing may be lost or come twice, and memory must stay where it is.
// `npm run soak:port [-- STEPS ACTORS]`
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { f32, fifo, i32, queueLimiter, Replay } from "reprise";

const [STEPS = 1_000_000, ACTORS = 4] = process.argv.slice(2).map(Number);
const ACTOR = fileURLToPath(new URL("../unit/remote/actor.mjs", import.meta.url));
const BATCH = 250;
const MB = 1 << 20;

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
let [seen, wrong, settled, most] = [0, 0, 0, 0];
while (seen < all) {
  const { steps, count } = await replay.tables.queue.sampleWhenReady(Math.min(BATCH, all - seen), { timeoutMs: 60_000 });
  const { actor, n, x } = steps;
  for (let i = 0; i < count; i++) {
    if (n.data[i] !== next[actor.data[i]]++ || x.data[4 * i] !== n.data[i]) wrong++;
  }
  seen += count;
  if (seen % (100 * BATCH) === 0) {
    await new Promise((resolve) => setImmediate(resolve));
    const { rss } = process.memoryUsage();
    if (seen <= all / 4) settled = Math.max(settled, rss);
    most = Math.max(most, rss);
  }
}
const ends = await Promise.all(accepted.map(({ closed }) => closed));
const seconds = (performance.now() - begin) / 1000;
const { used } = replay.stats().bytes;
console.log(`${ACTORS} actors × ${STEPS} steps in ${seconds.toFixed(1)} s: ${(all / seconds / 1000).toFixed(0)} thousand steps a second`);
console.log(`rss: at most ${(settled / MB).toFixed(0)} MB in the first quarter, ${(most / MB).toFixed(0)} MB in all; the core: ${(used / MB).toFixed(1)} MB`);
const faults = [
  ...(wrong > 0 ? [`${wrong} steps are lost, altered or out of order`] : []),
  ...(next.some((n) => n !== STEPS) ? [`actors gave ${next.join(", ")} steps`] : []),
  ...(ends.some(({ how }) => how !== "left") ? [`actors ended so: ${ends.map(({ how }) => how).join(", ")}`] : []),
  ...(replay.tables.queue.size > 0 ? [`${replay.tables.queue.size} items are left`] : []),
  ...(most > 1.25 * settled + 32 * MB ? ["memory grows"] : []),
];
for (const fault of faults) console.error(fault);
console.log(`${faults.length === 0 ? 1 : 0} passed, ${faults.length} failed`);
process.exitCode = faults.length === 0 ? 0 : 1;
