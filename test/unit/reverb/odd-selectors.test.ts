/** Tests a server with a selector that this version does not know. */
import { afterEach, expect, it } from "vitest";
import { i32 } from "../../../src/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { ReverbReplayBuffer } from "../../../src/tf-agents/index.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { serverInfoOf } from "../../support/server-tables.ts";

const spec = { act: i32() };
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

it("serverInfo reports an unknown selector, and all tables remain usable", async () => {
  const twin = new ReverbTwin("plain", "odd", "kept");
  twin.info = () => serverInfoOf([{ name: "odd", oddSampler: true }, { name: "plain" }, { name: "kept", oddRemover: true }]);
  const server = await GrpcServer.start(twin.handler);
  open.push({ close: () => server.stop() });
  const client = new ReverbClient(server.address, { spec });
  open.push(client);
  const info = await client.serverInfo();
  expect(Object.entries(info).map(([name, { sampler, remover }]) => [name, sampler.kind, remover.kind])).toEqual([
    ["odd", "unknown", "fifo"],
    ["plain", "fifo", "fifo"],
    ["kept", "fifo", "unknown"],
  ]);
  for (const table of ["plain", "odd", "kept"]) {
    await client.insert({ act: 3 }, { [table]: 1 });
    const writer = client.writer({ keep: 1, items: [{ table, length: 1 }] });
    await writer.append({ act: 3 });
    await writer.flush();
    for await (const [step] of client.sample(table, 1)) expect(step?.data[0]?.data).toEqual(Int32Array.of(3));
    const buffer = new ReverbReplayBuffer(spec, { client, tableName: table, sequenceLength: 1 });
    for await (const [items] of buffer.asDataset({ sampleBatchSize: 2 })) {
      expect([...items.act.data]).toEqual([3, 3]);
      break;
    }
  }
  // The order of the selector is unknown, so an ordered pass is impossible.
  const pass = new ReverbReplayBuffer(spec, { client, tableName: "odd" }).asDataset({ singleDeterministicPass: true });
  await expect(pass[Symbol.asyncIterator]().next()).rejects.toThrow(RangeError);
});
