// Actors in workers, as in Ape-X: each thread has an environment, a copy of the values and a remote writer. The learner
// has the memory: it draws transitions and updates priorities while actors append, and sends them newer values.
// The environment: a corridor. Its right end is worth 1, both ends terminate an episode, and 30 steps truncate it.
// Run: node docs/recipes/actors.js [steps of each actor]
import { setImmediate } from "node:timers/promises";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { f32, i32, remoteWriter } from "reprise/remote"; // loads no WebAssembly

const STEPS = Number(process.argv[2] ?? 3_000);
const [ACTORS, PLACES, START, TIME_LIMIT] = [3, 8, 2, 30];
const [GAMMA, LEARNING_RATE, BATCH, SYNC_EVERY] = [0.9, 0.5, 32, 10];

const spec = { observation: i32(), action: i32(), reward: f32() }; // the same at both ends
const values = new Float64Array(2 * PLACES); // in place of a network: one value per place and direction
const best = (place = 0) => Math.max(values[2 * place], values[2 * place + 1]);

if (parentPort) await live(parentPort, workerData.actor, workerData.steps);
else await learn();

/** An actor's thread: in your project, a separate file. @param {import("node:worker_threads").MessagePort} port */
async function live(port, actor = 0, steps = 0) {
  port.on("message", (newer) => values.set(newer));
  const writer = await remoteWriter(port, { spec });
  const epsilon = 0.4 ** (1 + (7 * actor) / (ACTORS - 1)); // some explore more than others
  for (let t = 0, [place, time] = [START, 0]; t < steps; t++) {
    const [left, right] = values.subarray(2 * place);
    const action = Math.random() < epsilon || left === right ? Math.floor(2 * Math.random()) : Number(right > left);
    const next = place + (action === 1 ? 1 : -1);
    const terminated = next === 0 || next === PLACES - 1;
    const truncated = ++time === TIME_LIMIT || t === steps - 1;
    // Wait: if too many steps are on their way, this is a promise. Without the wait, the next append throws.
    await writer.append({ observation: place, action, reward: next === PLACES - 1 ? 1 : 0 });
    if (terminated || truncated) {
      await writer.endEpisode({ final: { observation: next }, terminated });
      [place, time] = [START, 0];
    } else place = next;
  }
  await writer.flush(); // all steps are in the memory, and no transition waits for the rate limiter
  await writer.close();
  port.close();
}

async function learn() {
  const { prioritized, Replay, sampleToInsertRatio } = await import("reprise");
  // Eight draws for each transition: the faster side waits, the actors or the learner.
  const table = { maxSize: 50_000, sampler: prioritized(0.6), rateLimiter: sampleToInsertRatio(8, 200, 1_000) };
  const replay = new Replay({ spec, tables: { memory: table }, seed: 1 });
  const { memory } = replay.tables;
  const start = (actor = 0) => new Worker(new URL(import.meta.url), { workerData: { actor, steps: STEPS } });
  const workers = Array.from({ length: ACTORS }, (_, actor) => start(actor));
  const accepted = await Promise.all(
    // Ape-X uses three steps.
    workers.map((worker) => replay.acceptWriter(worker, { items: [{ table: "memory", nStep: 1 }], maxInFlight: 64 })),
  );
  const over = new AbortController();
  const ends = Promise.all(accepted.map(({ closed }) => closed)).finally(() => over.abort());

  let batches = 0;
  const options = { batchSize: BATCH, beta: 0.4, signal: over.signal, recycle: true };
  try {
    for await (const batch of memory.transitions({ gamma: GAMMA }).dataset(options)) {
      const { observation, action, returns, discounts, nextObservation, keys } = batch;
      const errors = Array.from(keys, (_, i) => {
        const at = 2 * observation.data[i] + action.data[i];
        const error = returns.data[i] + discounts.data[i] * best(nextObservation.data[i]) - values[at];
        values[at] += LEARNING_RATE * batch.weights.data[i] * error;
        return Math.abs(error) + 1e-3;
      });
      memory.updatePriorities(keys, errors);
      if (++batches % SYNC_EVERY === 0) for (const worker of workers) worker.postMessage(values);
      await setImmediate(); // lets steps of the actors arrive
    }
  } catch (error) {
    if (!over.signal.aborted) throw error;
  }
  const how = (await ends).map((end) => end.how).join(", ");
  console.log(`actors: ${how}; ${accepted.map(({ steps }) => steps).join(" + ")} steps, ${memory.size} transitions`);
  console.log(`${batches} batches; value at the start: ${best(START).toFixed(2)}, in truth ${(GAMMA ** 4).toFixed(2)}`);
}
