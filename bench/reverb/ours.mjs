// Runs the Reprise client: for each number that it receives, moves that many items and prints the time taken, one per line.
import { createInterface } from "node:readline";
import { bool, entry, f32, i32 } from "../package.mjs";
import { Random } from "../random.mjs";

const IN_FLIGHT = 100;
const UNCONFIRMED = 1000;
const { ReverbClient } = await entry("reverb");
const { does, table, port } = JSON.parse(process.argv[2]);
const spec = { action: i32(), done: bool(), obs: f32(64), reward: f32() };
const client = new ReverbClient(`127.0.0.1:${port}`, { spec, maxInFlightItems: UNCONFIRMED });
const random = new Random(1);
// The arrays exist before the measurement, like the output of an environment.
const STEPS = Array.from({ length: 256 }, (_, i) => ({
  action: i,
  done: i % 2 === 1,
  obs: Float32Array.from({ length: 64 }, () => random.next()),
  reward: i,
}));

const programs = {
  trajectoryWriter() {
    const writer = client.trajectoryWriter({ numKeepAliveRefs: 1 });
    return async (n) => {
      for (let i = 0; i < n; i++) {
        writer.append(STEPS[i & 255]);
        const { action, done, obs, reward } = writer.history;
        const waits = writer.createItem("in", 1, { action: action.slice(-1), done: done.slice(-1), obs: obs.slice(-1), reward: reward.slice(-1) });
        if (waits !== undefined) await waits;
      }
      await writer.flush();
    };
  },
  legacyWriter() {
    const writer = client.legacyWriter({ maxSequenceLength: 1, chunkLength: 1, maxInFlightItems: UNCONFIRMED });
    return async (n) => {
      for (let i = 0; i < n; i++) {
        writer.append(STEPS[i & 255]);
        const waits = writer.createItem("in", 1, 1);
        if (waits !== undefined) await waits;
      }
      await writer.flush();
    };
  },
  /** Creates items in a table with a rule, like the observers of TF-Agents. */
  writer() {
    const writer = client.writer({ keep: 1, items: [{ table: "in", length: 1, priority: 1 }] });
    return async (n) => {
      for (let i = 0; i < n; i++) {
        const waits = writer.append(STEPS[i & 255]);
        if (waits !== undefined) await waits;
      }
      await writer.flush();
    };
  },
  sample() {
    let kept;
    return async (n) => {
      const sampler = client.sampler(table, { maxSamples: n, maxInFlightSamplesPerWorker: IN_FLIGHT });
      for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) kept = item;
      sampler.close();
      return kept;
    };
  },
};

const run = programs[does]();
console.log("{}");
for await (const line of createInterface({ input: process.stdin })) {
  const start = process.hrtime.bigint();
  await run(Number(line));
  console.log(JSON.stringify({ ns: Number(process.hrtime.bigint() - start) }));
}
process.exit();
