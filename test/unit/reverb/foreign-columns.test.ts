/** Tests columns of types that JavaScript lacks: their known properties are kept, and an error names a column that cannot be written. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { f32, f64, i32, type Spec } from "../../../src/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { compress } from "../../../src/reverb/tensors/snappy.ts";
import type { ChunkMessage, TensorMessage } from "../../../src/reverb/wire/tensor.ts";
import { createConfig, patternFromTransform, ReverbReplayBuffer, TimestepDataset, TrajectoryDataset } from "../../../src/tf-agents/index.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { serverInfoOf } from "../../support/server-tables.ts";

const [F32, I32, C64, RESOURCE, BF16, F16, C128] = [1, 3, 8, 20, 14, 19, 18];
const act = [I32, [-1]] as const;
const tables = [
  { name: "half", signature: { obs: [F16, [-1, 3]], act } },
  { name: "brain", signature: { obs: [BF16, [-1, 3]], act } },
  { name: "complex", signature: { obs: [C64, [-1, 3]], act } },
  { name: "wide", signature: { obs: [C128, null], act } },
  { name: "resource", signature: { obs: [RESOURCE, [-1]], act } },
  { name: "future", signature: { obs: [99, [-1, 3]], act } },
  { name: "rank", signature: { obs: [F32, null], act } },
] as const;
const spec = { obs: f32(3), act: i32() };

let twin: ReverbTwin;
let server: GrpcServer;
const open: { close(): unknown }[] = [];

beforeEach(async () => {
  twin = new ReverbTwin(...tables.map(({ name }) => name));
  twin.info = () => serverInfoOf(tables.map((table) => ({ ...table, size: twin.tables.get(table.name)?.size ?? 0 })));
  server = await GrpcServer.start(twin.handler);
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) one.close();
  await server.stop();
});

function clientOf<const S extends Spec>(of: S): ReverbClient<S> {
  const client = new ReverbClient(server.address, { spec: of });
  open.push(client);
  return client;
}

/** The values 1, 2 and 3 as one step of f16, bfloat16 and complex64. */
const content = {
  half: { dtype: F16, shape: [1, 3], content: compress(new Uint8Array(Uint16Array.of(0x3c00, 0x4000, 0x4200).buffer)) },
  brain: { dtype: BF16, shape: [1, 3], content: compress(new Uint8Array(Uint16Array.of(0x3f80, 0x4000, 0x4040).buffer)) },
  complex: { dtype: C64, shape: [1, 3], content: compress(new Uint8Array(Float32Array.of(1, 0, 2, -1, 3, 0).buffer)) },
} satisfies { readonly [table: string]: TensorMessage };

/** Stores an item as another client would. */
function stored(table: string, obs: TensorMessage): void {
  const count: TensorMessage = { dtype: I32, shape: [1], content: compress(new Uint8Array(Int32Array.of(7).buffer)) };
  const chunk: ChunkMessage = { key: 5n, episodeId: 1n, start: 0, end: 0, sparse: false, deltaEncoded: false, tensors: [count, obs], uncompressedSize: 0 };
  const column = (index: number) => ({ slices: [{ chunkKey: 5n, offset: 0, length: 1, index }], squeeze: false });
  twin.tables.get(table)?.set(9n, { item: { key: 9n, table, priority: 1, timesSampled: 0, columns: [column(0), column(1)] }, chunks: [chunk] });
}

describe("serverInfo", () => {
  it("returns known columns next to unknown ones, as they are read", async () => {
    const info = await clientOf(spec).serverInfo();
    const known = { dtype: "i32", shape: [null] };
    expect(Object.fromEntries(Object.entries(info).map(([name, { signature }]) => [name, signature]))).toEqual({
      half: { act: known, obs: { dtype: "f16", shape: [null, 3] } },
      brain: { act: known, obs: { dtype: "bf16", shape: [null, 3] } },
      complex: { act: known, obs: { dtype: "f32", shape: [null, 3, 2], stored: "complex64" } },
      wide: { act: known, obs: { dtype: "f64", shape: null, stored: "complex128" } },
      resource: { act: known, obs: { dtype: "unknown", shape: [null], stored: "resource" } },
      future: { act: known, obs: { dtype: "unknown", shape: [null, 3], stored: "data type 99" } },
      rank: { act: known, obs: { dtype: "f32", shape: null } },
    });
  });
});

describe("writing", () => {
  const refusals = [
    ["half", "f16 of shape"],
    ["brain", "bf16 of shape"],
    ["complex", "complex64"],
    ["wide", "complex128"],
    ["resource", "resource"],
    ["future", "data type 99"],
  ] as const;
  const step = { obs: [1, 2, 3], act: 1 };

  it.each(refusals)("into table %s throws SPEC_MISMATCH with the column in every writer, before sending", async (table, type) => {
    const client = clientOf(spec);
    const refused = { code: "SPEC_MISMATCH", message: expect.stringMatching(new RegExp(`table ${table}(?=.*\\bobs\\b).*${type}`)) };
    await expect(client.insert(step, { [table]: 1 })).rejects.toMatchObject(refused);

    const writer = client.trajectoryWriter({ numKeepAliveRefs: 2 });
    writer.append(step);
    const { obs, act } = writer.history as { readonly obs: never; readonly act: never } as never as Record<"obs" | "act", { slice(start: number): never }>;
    const create = () => writer.createItem(table, 1, { act: act.slice(-1), obs: obs.slice(-1) });
    expect(create).toThrow(expect.objectContaining(refused));

    const config = createConfig(
      patternFromTransform(spec, (ref) => ({ act: ref.act.slice(-1), obs: ref.obs.slice(-1) })),
      table,
    );
    expect(() => client.structuredWriter([config])).toThrow(expect.objectContaining(refused));

    const legacy = client.legacyWriter({ maxSequenceLength: 1 });
    await legacy.append(step);
    expect(() => legacy.createItem(table, 1, 1)).toThrow(expect.objectContaining(refused));

    const observer = client.writer({ keep: 1 });
    await observer.append(step);
    expect(() => observer.createItem(table, { length: 1 })).toThrow(expect.objectContaining(refused));
    expect([twin.came, twin.wrong]).toEqual([0, []]);
  });

  it("into a column of any rank accepts every shape, and rejects another dtype", async () => {
    await clientOf(spec).insert(step, { rank: 1 });
    await clientOf({ obs: f32(2, 2), act: i32() }).insert({ obs: [1, 2, 3, 4], act: 1 }, { rank: 1 });
    expect(twin.came).toBe(2);
    await expect(clientOf({ obs: f64(3), act: i32() }).insert(step, { rank: 1 })).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringContaining("f32 of any shape, as its signature states for obs"),
    });
    expect(twin.came).toBe(2);
  });

  it("still compares a known column next to one of any rank", async () => {
    await expect(clientOf({ obs: f32(3), act: f32() }).insert(step, { rank: 1 })).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringContaining("i32 of shape [any], as its signature states for act"),
    });
    expect(twin.came).toBe(0);
  });

  it("sends the item anyway with validateItems: false", async () => {
    const writer = clientOf(spec).trajectoryWriter({ numKeepAliveRefs: 1, validateItems: false });
    writer.append(step);
    const { obs, act } = writer.history as never as Record<"obs" | "act", { slice(start: number): never }>;
    await writer.createItem("half", 1, { act: act.slice(-1), obs: obs.slice(-1) });
    await writer.flush();
    expect(twin.came).toBe(1);
  });
});

describe("reading", () => {
  const read = { half: [1, 2, 3], brain: [1, 2, 3], complex: [1, 0, 2, -1, 3, 0] };
  it.each(["half", "brain", "complex"] as const)("table %s nests items as in its signature, and works as a dataset", async (table) => {
    stored(table, content[table]);
    const client = clientOf(spec);
    const shape = table === "complex" ? [1, 3, 2] : [1, 3];
    const obs = { shape, data: Float32Array.from(read[table]) };
    for await (const { data } of client.sample(table, 1, { emitTimesteps: false, unpackAsTableSignature: true }))
      expect(data).toMatchObject({ act: { shape: [1], data: Int32Array.of(7) }, obs });
    for await (const [one] of client.sample(table, 1, { unpackAsTableSignature: true })) expect(one?.data.obs).toMatchObject({ shape: shape.slice(1) });
    const dataset = await TrajectoryDataset.fromTableSignature(client, table, { maxSamples: 1 });
    for await (const { data } of dataset) expect(data).toMatchObject({ obs });
    for await (const { data } of dataset.batch(1)) expect(data.obs.shape).toEqual([1, ...shape]);
  });

  it("a replay buffer reads float16 as f32", async () => {
    stored("half", content.half);
    const buffer = new ReverbReplayBuffer(spec, { client: clientOf(spec), tableName: "half", sequenceLength: 1 });
    for await (const [items] of buffer.asDataset({ sampleBatchSize: 1 })) {
      expect([...items.obs.data]).toEqual([1, 2, 3]);
      break;
    }
  });

  it("reads columns of any rank as whole items, and rejects them as timesteps", async () => {
    await clientOf({ obs: f32(2, 2), act: i32() }).insert({ obs: [1, 2, 3, 4], act: 1 }, { rank: 1 });
    const client = clientOf(spec);
    const whole = await TrajectoryDataset.fromTableSignature(client, "rank", { maxSamples: 1 });
    expect(whole.elementSpec.data).toEqual({ act: { dtype: "i32", shape: [null] }, obs: { dtype: "f32", shape: null } });
    for await (const { data } of whole) expect(data.obs.shape).toEqual([1, 2, 2]);
    const steps = new TimestepDataset(client, "rank", {
      spec: { act: { dtype: "i32", shape: [] }, obs: { dtype: "f32", shape: null } },
      maxSamples: 1,
    });
    // The table's signature describes items, so its columns have a time dimension.
    await expect(steps[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "SPEC_MISMATCH", message: expect.stringContaining("act") });
  });

  it("fails with UNSUPPORTED and the column name for an unknown data type", async () => {
    stored("future", { dtype: 99, shape: [1, 3], content: new Uint8Array(3) });
    const sampler = clientOf(spec).sampler("future");
    await expect(sampler.next()).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringMatching(/column obs of table future.*data type 99/) });
    twin.tables.get("future")?.clear();
    sampler.close();
  });
});
