/** Reads tables of a real server with data types that JavaScript has no arrays for, and an episode of thousands of chunks. Python wrote both. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { f32, i32 } from "../../src/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { TrajectoryDataset } from "../../src/tf-agents/index.ts";
import { type Peer, python, serving } from "./peer.ts";

const spec = { obs: f32(3), act: i32() };

describe.skipIf(python === undefined)("tables of other data types", () => {
  let peer: Peer;
  let client: ReverbClient<typeof spec>;

  beforeAll(async () => {
    peer = await serving("foreign_columns.py");
    client = new ReverbClient(peer.address, { spec });
  });
  afterAll(async () => {
    client?.close();
    await peer?.stop();
  });

  it("describe their columns, even those with unsupported dtypes", async () => {
    const info = await client.serverInfo({ timeout: 10 });
    const act = { dtype: "i32", shape: [null] };
    expect(Object.fromEntries(Object.entries(info).map(([name, { signature }]) => [name, signature]))).toEqual({
      half: { act, obs: { dtype: "f16", shape: [null, 3] } },
      brain: { act, obs: { dtype: "bf16", shape: [null, 3] } },
      complex: { act, obs: { dtype: "f32", shape: [null, 3, 2], stored: "complex64" } },
      quantized: { act, obs: { dtype: "i8", shape: [null], stored: "qint8" } },
      small: { act, obs: { dtype: "unknown", shape: [null], stored: "float8_e5m2" } },
      rank: { act, obs: { dtype: "f32", shape: null } },
    });
  });

  it.each([
    ["half", [1, 3], [1, 2, 3]],
    ["complex", [1, 3, 2], [1, 0, 0, 2, 3, 0]],
  ] as const)("items that Python wrote to the table %s are nested like the table's signature", async (table, shape, data) => {
    for await (const item of client.sample(table, 1, { emitTimesteps: false, unpackAsTableSignature: true })) {
      expect(item.data).toMatchObject({ act: { shape: [1], data: Int32Array.of(7) }, obs: { shape, data: Float32Array.from(data) } });
    }
    for await (const item of await TrajectoryDataset.fromTableSignature(client, table, { maxSamples: 1 })) expect([...item.data.obs.data]).toEqual(data);
  });

  it.each([
    ["half", "column 1 of an item of table"],
    ["brain", "column 1 of an item of table"],
    ["complex", "table complex stores obs as"],
    ["quantized", "table quantized stores obs as"],
    ["small", "table small stores obs as"],
  ])("an f32 step is rejected by table %s", async (table, reason) => {
    const before = (await client.serverInfo())[table]?.currentSize;
    await expect(client.insert({ obs: [1, 2, 3], act: 1 }, { [table]: 1 })).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringContaining(reason),
    });
    expect((await client.serverInfo())[table]?.currentSize).toBe(before);
  });

  it("a column without a fixed rank accepts steps of any shape", async () => {
    await client.insert({ obs: [1, 2, 3], act: 1 }, { rank: 1 });
    expect((await client.serverInfo()).rank?.currentSize).toBe(1);
  });
});

describe.skipIf(python === undefined)("an episode written by ReverbAddEpisodeObserver", () => {
  const STEPS = 3000;
  let peer: Peer;

  beforeAll(async () => {
    peer = await serving("episode.py", String(STEPS));
  }, 120_000);
  afterAll(() => peer?.stop());

  it("is read completely, with every step in its place", async () => {
    const client = new ReverbClient(peer.address);
    for await (const { data } of client.sample("episodes", 1, { emitTimesteps: false, unpackAsTableSignature: true })) {
      const { observation, action, reward } = data;
      expect([observation.shape, action.shape, reward.shape]).toEqual([[STEPS, 4], [STEPS], [STEPS]]);
      for (let t = 0; t < STEPS; t++)
        if (observation.data[4 * t] !== t || action.data[t] !== BigInt(t % 7) || reward.data[t] !== t / 2) expect.unreachable(`step ${t} is another one`);
    }
    client.close();
  });
});
