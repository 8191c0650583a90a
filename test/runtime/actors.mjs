/** Runs actors in any runtime: three in workers, of which two leave and one is killed, and one in the same thread. */
import { f32, fifo, i32, Replay } from "../../dist/index.js";
import { remoteWriter } from "../../dist/remote.js";

const Worker = globalThis.Worker ?? (await import("node:worker_threads")).Worker;
const spec = { observation: f32(2), action: i32(), reward: f32() };
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a worker, and sends its instructions when it requests them. */
function start(actor, steps) {
  const worker = new Worker(new URL("actors-worker.mjs", import.meta.url), { type: "module" });
  const told = (message) => message === "what?" && worker.postMessage({ actor, steps });
  if (worker.on) worker.on("message", told);
  else worker.addEventListener("message", ({ data }) => told(data));
  return worker;
}

/** Returns whether the transitions of each actor begin at steps 0, 1, 2, …, without gaps. */
function inOrder({ memory }) {
  const { observation, steps } = memory.transitions({ gamma: 0.9 }).sample(memory.size, { replacement: false });
  const next = {};
  let right = true;
  for (let i = 0; i < memory.size; i++) {
    const [actor, t] = observation.at(i);
    right &&= t === (next[actor] ?? 0) && steps.data[i] >= 1;
    next[actor] = t + 1;
  }
  return right;
}

const make = () => new Replay({ spec, tables: { memory: { maxSize: 100_000, sampler: fifo() } } });
const accept = { items: [{ table: "memory", nStep: 3 }], maxInFlight: 64 };

const replay = make();
const workers = [1, 2].map((actor) => start(actor, 1000));
const accepted = await Promise.all(workers.map((worker) => replay.acceptWriter(worker, accept)));
const ends = await Promise.all(accepted.map(({ closed }) => closed));
console.log(`actors: ${ends.map(({ how }) => how)}, ${replay.tables.memory.size} transitions, in order: ${inOrder(replay.tables)}`);
for (const worker of workers) worker.terminate();

const cut = make();
const endless = start(3, Infinity);
const last = await cut.acceptWriter(endless, accept);
for (const since = performance.now(); last.steps < 200; await later(1)) {
  if (performance.now() - since > 20_000) throw new Error(`an actor without end has sent ${last.steps} steps in 20 s`);
}
endless.terminate();
// Not every runtime reports that a worker has exited.
await Promise.race([last.closed, later(500)]);
last.close();
const { how } = await last.closed;
console.log(`killed: ${how === "gone" || how === "closed"}, in order: ${inOrder(cut.tables)}, writers: ${cut.writers.length}`);

const { port1, port2 } = new MessageChannel();
const [near, writer] = await Promise.all([make().acceptWriter(port1, accept), remoteWriter(port2, { spec })]);
for (let t = 0; t < 500; t++) await writer.append({ observation: [4, t], action: t, reward: 1 });
await writer.close();
console.log(`in one thread: ${(await near.closed).how}, ${near.steps} steps`);
port1.close();
