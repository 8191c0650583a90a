// Runs an actor in a worker thread: writes the requested number of steps, which count up. `workerData`: { actor, steps, episode, items, wait }
import { parentPort, workerData } from "node:worker_threads";
import { f32, i32, remoteWriter } from "reprise/remote";

const { actor, steps, episode = 1000, items = false, wait = false } = workerData;
const writer = await remoteWriter(parentPort, { spec: { actor: i32(), n: i32(), x: f32(4) }, timeoutMs: 20_000 });
const x = new Float32Array(4);
for (let n = 0; n < steps; n++) {
  x.fill(n);
  const room = writer.append({ actor, n, x });
  if (room !== undefined) await room;
  if (items) await writer.createItem("items", { length: 1, priority: n + 1 });
  if ((n + 1) % episode === 0) await writer.endEpisode();
  if (wait) await new Promise((resolve) => setTimeout(resolve, 1));
}
if (workerData.leaves !== "silently") await writer.close();
