/** Tests variables on a server: the first call requests its tables, and invalid calls are rejected before anything is sent. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { f32 } from "../../../src/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { Column } from "../../../src/schema/column.ts";
import { ReverbVariableContainer } from "../../../src/tf-agents/index.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { serverInfoOf, type WrittenTable } from "../../support/server-tables.ts";

const [F32, I64, C64] = [1, 9, 8];
const signature = { step: [I64, []], w: [F32, [2, -1]] } as const;
let tables: WrittenTable[];
let twin: ReverbTwin;
let server: GrpcServer;
let client: ReverbClient;

beforeEach(async () => {
  tables = [{ name: "variables", maxSize: 1, signature }];
  twin = new ReverbTwin("variables", "other");
  twin.info = () => serverInfoOf(tables);
  // The tables have room for one item, so the newest item stays.
  const { confirm } = twin;
  twin.confirm = (call, keys) => {
    for (const items of twin.tables.values()) for (const key of [...items.keys()].slice(0, -1)) items.delete(key);
    confirm(call, keys);
  };
  server = await GrpcServer.start(twin.handler);
  // The client belongs to an actor, whose own steps have another spec.
  client = new ReverbClient(server.address, { spec: f32() }) as unknown as ReverbClient;
});
afterEach(async () => {
  client.close();
  await server.stop();
  expect(twin.wrong).toEqual([]);
});

it("pull returns the newest pushed values, independent of the client's spec", async () => {
  const container = new ReverbVariableContainer(client);
  for (const n of [1, 2, 3]) await container.push({ step: n, w: new Column(Float32Array.of(n, 0, 0, 0, 0, n), [2, 3]) });
  expect(twin.tables.get("variables")?.size).toBe(1);
  expect(await container.pull()).toEqual({ step: new Column(BigInt64Array.of(3n), []), w: new Column(Float32Array.of(3, 0, 0, 0, 0, 3), [2, 3]) });
  const w = new Float32Array(6);
  await container.update({ step: new BigInt64Array(1), w });
  expect([...w]).toEqual([3, 0, 0, 0, 0, 3]);
  // The signature leaves a length open, which is known from the draw.
  await expect(container.update({ step: new BigInt64Array(1), w: new Float32Array(4) })).rejects.toThrow(/^variables\.w must be .*f32 of shape \[2, 3\]/);
});

it("pull rejects after its timeout, after a signal, and after close", async () => {
  const container = new ReverbVariableContainer(client);
  await expect(container.pull({ timeoutMs: 1 })).rejects.toMatchObject({ code: "TIMEOUT" });
  const controller = new AbortController();
  const waits = container.pull({ signal: controller.signal });
  controller.abort("enough");
  await expect(waits).rejects.toBe("enough");
  const closing = container.pull();
  client.close();
  await expect(closing).rejects.toMatchObject({ code: "CLOSED" });
});

it.each([
  [[{ name: "other", maxSize: 1, signature }], { code: "NOT_FOUND", message: expect.stringMatching(/^each of tableNames must .*other.*got "variables"$/) }],
  [[{ name: "variables", maxSize: 2, signature }], { name: "RangeError", message: expect.stringMatching(/^maxSize of table variables must .*1.*got 2$/) }],
  [[{ name: "variables", maxSize: 1 }], { name: "TypeError", message: expect.stringMatching(/^table variables has no signature/) }],
])("calls reject an unsuitable table until the server replaces it: %#", async (wrong, error) => {
  const right = tables;
  tables = wrong as WrittenTable[];
  const container = new ReverbVariableContainer(client);
  await expect(container.pull()).rejects.toMatchObject(error);
  await expect(container.push({})).rejects.toMatchObject(error);
  tables = right;
  await container.push({ step: 1n, w: [[1], [2]] });
  expect((await container.pull()).w).toEqual(new Column(Float32Array.of(1, 2), [2, 1]));
});

it("push rejects values that do not fit before it sends anything", async () => {
  tables = [
    { name: "variables", maxSize: 1, signature: { c: [C64, [2]] } },
    { name: "other", maxSize: 1, signature },
  ];
  const container = new ReverbVariableContainer(client, { tableNames: ["variables", "other"] });
  await expect(container.push({ c: [[1, 0], [2, 0]] })).rejects.toMatchObject({ code: "SPEC_MISMATCH", message: expect.stringContaining("complex64") }); // biome-ignore format: short
  for (const [values, message] of [
    [{ step: 1, w: [[1, 2, 3]] }, /^values\.w must .*f32.*\[2, any\]/],
    [{ step: 1, w: new Float32Array(3) }, /^values\.w must be/],
    [{ step: 1, w: [[1, 2], [3]] }, /^values\.w must .*f32.*\[2, any\].*got an array of 2$/], // biome-ignore format: short
    [{ step: 1, w: new Column(new Float64Array(2), [2, 1]) }, /^values\.w must be/],
  ] as const)
    await expect(container.push(values, { table: "other" }), String(message)).rejects.toThrow(message);
  expect(twin.came).toBe(0);
});

it("the constructor rejects a client with several servers", async () => {
  const several = new ReverbClient([server.address, "127.0.0.1:1"]);
  expect(() => new ReverbVariableContainer(several)).toThrow(/^variables must/);
  several.close();
});
