/** Runs a learner in JavaScript on data that Python wrote: it reads batches of TF-Agents trajectories, and writes priorities back. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { f32, i64 } from "../../src/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { asTransition, ReverbReplayBuffer, TrajectoryDataset, trajectorySpec } from "../../src/tf-agents/index.ts";
import { type Peer, python, serving } from "./peer.ts";

const COUNT = 1000;
const spec = trajectorySpec({ observation: f32(4), action: i64() });

describe.skipIf(python === undefined)("trajectories written by Python", () => {
  let peer: Peer;
  let client: ReverbClient;

  beforeAll(async () => {
    peer = await serving("trajectories.py", String(COUNT));
    client = new ReverbClient(peer.address);
  });
  afterAll(async () => {
    client?.close();
    await peer?.stop();
  });

  it("are read in batches under our names, with each column as written", async () => {
    const buffer = new ReverbReplayBuffer(spec, { client, tableName: "trajectories", sequenceLength: 2 });
    expect([await buffer.capacity, await buffer.numFrames()]).toEqual([100_000, COUNT]);
    const seen = new Set<number>();
    let batches = 0;
    for await (const [batch, info] of buffer.asDataset({ sampleBatchSize: 64, prefetch: 1 })) {
      const { observation, action, stepType, nextStepType, reward, discount, policyInfo } = batch;
      expect([observation.shape, action.shape, policyInfo]).toEqual([[64, 2, 4], [64, 2], []]);
      for (let i = 0; i < 128; i++) {
        const t = observation.data[4 * i] as number;
        const k = t % 10;
        if (i % 2 === 1) expect(t).toBe((observation.data[4 * (i - 1)] as number) + 1);
        expect([...observation.data.subarray(4 * i, 4 * i + 4)]).toEqual([t, t + 0.25, 0 - t, 1]);
        expect([action.data[i], stepType.data[i], nextStepType.data[i], reward.data[i], discount.data[i]]).toEqual([
          BigInt(t % 2),
          k === 0 ? 0 : k === 9 ? 2 : 1,
          k === 8 ? 2 : k === 9 ? 0 : 1,
          t / 2,
          k === 8 ? 0 : 1,
        ]);
        expect([info.ids.data[i], info.probabilities.data[i]]).toEqual([info.ids.data[i - (i % 2)], 1 / COUNT]);
        seen.add(t);
      }
      const { timeStep, nextTimeStep } = asTransition(spec, batch, { squeezeTimeDim: true });
      const [before, after] = [timeStep, nextTimeStep].map((step) => step.observation as typeof observation) as [typeof observation, typeof observation];
      expect([before.shape, after.data[1]]).toEqual([[64, 4], (before.data[1] as number) + 1]);
      if (++batches === 30) break;
    }
    expect(seen.size).toBeGreaterThan(500);
  });

  it("can be given priorities, and items of priority 0 are never drawn again", async () => {
    const buffer = new ReverbReplayBuffer(spec, { client, tableName: "trajectories", sequenceLength: 2 });
    // After 100 iterations, prefetched items are older than the newest priorities.
    const dropped = new Set<bigint>();
    let batches = 0;
    for await (const [{ reward }, { ids }] of buffer.asDataset({ sampleBatchSize: 64 })) {
      const priorities = Array.from(reward.data, (r) => (r < COUNT / 4 ? 0 : 1));
      priorities.forEach((priority, i) => {
        // The last step of the item decides. If a key occurs twice, its last priority counts.
        if (i % 2 === 1 && priority === 0) dropped.add(ids.data[i] as bigint);
      });
      await buffer.updatePriorities(ids.data, priorities);
      if (++batches === 100) break;
    }
    expect(dropped.size).toBeGreaterThan(400);
    for await (const [, { ids, priorities }] of buffer.asDataset({ sampleBatchSize: 256 })) {
      expect([...ids.data].some((id) => dropped.has(id))).toBe(false);
      expect(new Set(priorities.data)).toEqual(new Set([1]));
      break;
    }
  });

  it("are a dataset with the table's signature and Python names", async () => {
    const dataset = await TrajectoryDataset.fromTableSignature(client, "trajectories", { maxSamples: 3 });
    for await (const { data } of dataset)
      expect([Object.keys(data).sort(), data.observation.shape, data.next_step_type.shape]).toEqual([
        ["action", "discount", "next_step_type", "observation", "policy_info", "reward", "step_type"],
        [2, 4],
        [2],
      ]);
  });

  it("are rejected before any draw if the data spec differs", async () => {
    const other = trajectorySpec({ observation: f32(3), action: i64() });
    const buffer = new ReverbReplayBuffer(other, { client, tableName: "trajectories" });
    await expect(buffer.asDataset()[Symbol.asyncIterator]().next()).rejects.toThrow(
      /^observation of dataSpec for table trajectories must .*f32.*\[any, 4\].*got f32 of shape \[any, 3\]$/,
    );
  });
});
