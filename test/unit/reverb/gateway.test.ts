/** Actors of a client, against a naive server; test/interop has those of a real one. */
import type { EventEmitter } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { i32 } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { RawPeer } from "../remote/raw-peer.ts";
import { ends, endsOf, memoryChannels } from "../remote/support.ts";

const spec = { act: i32() };

async function gateway(...tables: string[]) {
  const twin = new ReverbTwin(...tables);
  const server = await GrpcServer.start(twin.handler);
  const client = new ReverbClient(`127.0.0.1:${server.port}`, { spec, logger: null });
  onTestFinished(async () => {
    client.close();
    await server.stop();
  });
  const actor = async () => {
    const [here, there] = memoryChannels();
    const [, writer] = await Promise.all([client.acceptWriter(here), remoteWriter(there, { spec })]);
    return writer;
  };
  return { twin, client, actor };
}

it("an actor's items go to the tables that it names, also where the server tells of them in another order later", async () => {
  const { twin, actor } = await gateway("b", "c");
  const early = await actor();
  // As after a restart.
  const [b, c] = [...twin.tables.values()] as [Map<bigint, never>, Map<bigint, never>];
  twin.tables.clear();
  for (const [name, items] of [
    ["a", new Map()],
    ["c", c],
    ["b", b],
  ] as const)
    twin.tables.set(name, items);
  const late = await actor();
  for (const writer of [early, late]) {
    await writer.append({ act: 1 });
    await writer.createItem("b", { length: 1 });
  }
  await late.createItem("a", { length: 1 });
  await Promise.all([early.flush(), late.flush()]);
  expect([...twin.tables].map(([name, items]) => [name, items.size])).toEqual([
    ["a", 1],
    ["c", 0],
    ["b", 2],
  ]);
  // One that is gone keeps its place.
  twin.tables.delete("a");
  await actor();
  await late.createItem("c", { length: 1 });
  await late.flush();
  expect(c.size).toBe(1);
  expect(twin.wrong).toEqual([]);
});

it("a socket that breaks while the server is asked for its tables ends no process", async () => {
  const { twin, client } = await gateway("t");
  const [here] = (await endsOf("ws")) as unknown as [EventEmitter];
  twin.answer = () => {};
  const aborter = new AbortController();
  const accepting = client.acceptWriter(here as never, { signal: aborter.signal });
  expect(() => here.emit("error", new Error("a frame that is none"))).not.toThrow();
  aborter.abort();
  await expect(accepting).rejects.toMatchObject({ name: "AbortError" });
});

it("an actor is told why it is not let in: over a socket and over a port", async () => {
  const { client } = await gateway("t");
  const items = [{ table: "missing", length: 1 }];
  const [here, there] = memoryChannels();
  const [refused, told] = await Promise.all([errorFrom(client.acceptWriter(here, { items })), errorFrom(remoteWriter(there, { spec }))]);
  for (const error of [refused, told]) expectError(error, "NOT_FOUND", /missing/);
  const [near, far] = memoryChannels();
  const peer = new RawPeer(far);
  expectError(await errorFrom(client.acceptWriter(near, { items })), "NOT_FOUND");
  await peer.closed;
  expect([peer.code, peer.frames.at(-1)?.kind, peer.reason]).toEqual([4001, "refused", expect.stringMatching(/missing/)]);

  const [port, other] = ends();
  const asking = errorFrom(remoteWriter(other, { spec, timeoutMs: 5000 }));
  expectError(await errorFrom(client.acceptWriter(port, { items })), "NOT_FOUND");
  expectError(await asking, "NOT_FOUND", /missing/);
  // The port is free again.
  const [, writer] = await Promise.all([client.acceptWriter(port), remoteWriter(other, { spec })]);
  await writer.close();
});

it("without its server an actor's socket is closed with 4007, after which it comes again", async () => {
  const client = new ReverbClient("127.0.0.1:1", { spec, logger: null, reconnectTimeoutMs: 0 });
  onTestFinished(() => client.close());
  const [here, there] = memoryChannels();
  const peer = new RawPeer(there);
  expectError(await errorFrom(client.acceptWriter(here)), "IO");
  await peer.closed;
  expect([peer.code, peer.frames.map(({ kind }) => kind)]).toEqual([4007, ["invite"]]);

  const { client: reachable } = await gateway("t");
  let tries = 0;
  const writer = await remoteWriter(
    () => {
      const [near, far] = memoryChannels();
      (++tries === 1 ? client : reachable).acceptWriter(near).catch(() => {});
      return far;
    },
    { spec },
  );
  expect(tries).toBe(2);
  await writer.close();
});

it("wrong options leave the socket as it was", async () => {
  const { client } = await gateway("t");
  const [here, there] = memoryChannels();
  for (const options of [{ items: [{ table: "t", length: 0 }] }, { maxInFlight: 0 }, { confirm: "disk" }])
    expect(await errorFrom(client.acceptWriter(here, options as never))).toBeInstanceOf(Error);
  expect(there.code).toBeUndefined();
  const [, writer] = await Promise.all([client.acceptWriter(here), remoteWriter(there, { spec })]);
  await writer.close();
});
