/** Tests actors that write through a client to a naive server. test/interop uses a real server. */
import type { EventEmitter } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { i32 } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { LaneWriter } from "../../../src/reverb/lane-writer.ts";
import { placeLeaves } from "../../../src/reverb/step-values.ts";
import { leavesOf } from "../../../src/schema/spec.ts";
import { Fields } from "../../../src/tf-agents/writers/fields.ts";
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

it("an actor's items go to the named tables, even if the server reorders its tables", async () => {
  const { twin, actor } = await gateway("b", "c");
  const early = await actor();
  // The server lists its tables in another order, as after a restart.
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
  // A removed table keeps its place in the list.
  twin.tables.delete("a");
  await actor();
  await late.createItem("c", { length: 1 });
  await late.flush();
  expect(c.size).toBe(1);
  expect(twin.wrong).toEqual([]);
});

it("endEpisode ends the episode of one lane, or of all lanes if no lane is passed", async () => {
  const { twin, client } = await gateway("t");
  const [here, there] = memoryChannels();
  const items = [{ table: "t", length: 2 }];
  const [, writer] = await Promise.all([client.acceptWriter(here, { items, keep: 2 }), remoteWriter(there, { spec, lanes: 2 })]);
  const append = async () => await writer.append({ act: [1, 2] });
  const came = async () => {
    await writer.flush();
    return twin.came;
  };
  expect(() => writer.endEpisode({ terminated: true })).toThrow(/^lane .*the writer has 2 lanes/);
  await append();
  await append();
  expect(await came()).toBe(2);
  await writer.endEpisode({ lane: 1 });
  await append();
  // Lane 1 has one step of a new episode, and lane 0 continues.
  expect(await came()).toBe(3);
  await writer.endEpisode();
  await append();
  expect(await came()).toBe(3);
  await append();
  expect(await came()).toBe(5);
  // A final step ends the lane's episode, and the rule makes an item.
  await writer.endEpisode({ lane: 0, final: { act: 9 }, terminated: true });
  expect(await came()).toBe(6);
  await append();
  expect(await came()).toBe(7);
  await writer.close();
  expect(twin.wrong).toEqual([]);
});

it.each([
  ["an end of an unknown lane", { lane: 2 }],
  ["a final step of an unknown lane", { lane: 2, terminated: true }],
  ["a final step of no lane", { terminated: true }],
  ["an end of a part of a lane", { lane: 0.5 }],
])("%s throws and changes nothing", (_, options) => {
  const calls: string[] = [];
  const note = (name: string) => () => void calls.push(name);
  const lane = { appendValues: note("append"), endEpisode: note("end"), createItem: note("item"), close: note("close") };
  const fields = new Fields<typeof spec>({ spec, layout: { leaves: placeLeaves(leavesOf(spec)) } });
  const writer = new LaneWriter({ lanes: 2, autoreset: "disabled" } as never, fields, [lane, lane] as never);
  expect(() => writer.endEpisode(options)).toThrow(/^lane (must be|is required)/);
  expect(() => writer.createItem("t", { length: 1, lane: 2 })).toThrow(/^lane must be an integer in 0 … 1, got 2/);
  expect(calls).toEqual([]);
});

it("items waiting for a table survive writer.close, and fail with CLOSED after client.close", async () => {
  for (const isClientClosed of [false, true]) {
    const twin = new ReverbTwin("t");
    const held: (() => void)[] = [];
    let isHeld = true;
    const server = await GrpcServer.start({
      ...twin.handler,
      message: (call, bytes) => {
        if (isHeld && call.method.endsWith("ServerInfo")) held.push(() => twin.handler.message?.(call, bytes));
        else twin.handler.message?.(call, bytes);
      },
    });
    const client = new ReverbClient(`127.0.0.1:${server.port}`, { spec, logger: null });
    const rules = [{ table: "t", length: 1 }];
    const writers = [
      client.writer({ keep: 1, items: rules }),
      // The item of this writer also waits for a chunk.
      client.legacyWriter({ maxSequenceLength: 2, chunkLength: 2 }),
    ] as const;
    const promises = [writers[0].append({ act: 1 }), writers[1].append({ act: 2 })];
    promises.push(writers[1].createItem("t", 1, 1));
    for (const writer of writers) writer.close();
    await client.serverInfo({ timeout: 0 }).catch(() => {});
    expect(twin.came).toBe(0);
    if (isClientClosed) {
      client.close();
      await expect(promises[0]).rejects.toMatchObject({ code: "CLOSED" });
    } else {
      isHeld = false;
      for (const answer of held) answer();
      await promises[0];
      await client[Symbol.asyncDispose]();
      expect(twin.tables.get("t")?.size).toBe(2);
    }
    await server.stop();
    expect(twin.wrong).toEqual([]);
  }
});

it("asyncDispose of the client rejects with the error of a closed writer's item", async () => {
  const { client } = await gateway("t");
  const writer = client.writer({ keep: 1, items: [{ table: "missing", length: 1 }] });
  void writer.append({ act: 1 });
  writer.close();
  await expect(client[Symbol.asyncDispose]()).rejects.toMatchObject({ code: "NOT_FOUND", message: expect.stringContaining("missing") });
});

it("items that wait for room are still stored after their writer is closed", async () => {
  for (const isKnown of [false, true]) {
    const twin = new ReverbTwin("t");
    const held: (() => void)[] = [];
    const { confirm } = twin;
    let onItem = () => {};
    const first = new Promise<void>((resolve) => {
      onItem = resolve;
    });
    twin.confirm = (call, keys) => {
      held.push(() => confirm(call, keys));
      onItem();
    };
    const server = await GrpcServer.start(twin.handler);
    const client = new ReverbClient(`127.0.0.1:${server.port}`, { spec, logger: null, maxInFlightItems: 1 });
    if (isKnown) await client.serverInfo();
    const writer = client.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
    for (let act = 0; act < 3; act++) void writer.append({ act });
    await first;
    // One item is in flight; the others wait for its confirmation or for the queue.
    writer.close();
    twin.confirm = confirm;
    for (const answer of held) answer();
    await client[Symbol.asyncDispose]();
    expect([twin.tables.get("t")?.size, twin.wrong]).toEqual([3, []]);
    await server.stop();
  }
});

it("a socket error during a table request does not crash the process", async () => {
  const { twin, client } = await gateway("t");
  const [here] = (await endsOf("ws")) as unknown as [EventEmitter];
  twin.answer = () => {};
  const aborter = new AbortController();
  const accepting = client.acceptWriter(here as never, { signal: aborter.signal });
  expect(() => here.emit("error", new Error("a frame that is none"))).not.toThrow();
  aborter.abort();
  await expect(accepting).rejects.toMatchObject({ name: "AbortError" });
});

it("a rejected actor receives the reason, over a socket and over a port", async () => {
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
  // The port can be used again.
  const [, writer] = await Promise.all([client.acceptWriter(port), remoteWriter(other, { spec })]);
  await writer.close();
});

it("an actor's socket is closed with 4007 without a server, and the actor reconnects", async () => {
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

it("acceptWriter with invalid options leaves the socket usable", async () => {
  const { client } = await gateway("t");
  const [here, there] = memoryChannels();
  for (const options of [{ items: [{ table: "t", length: 0 }] }, { maxInFlight: 0 }, { confirm: "disk" }])
    expect(await errorFrom(client.acceptWriter(here, options as never))).toBeInstanceOf(Error);
  expect(there.code).toBeUndefined();
  const [, writer] = await Promise.all([client.acceptWriter(here), remoteWriter(there, { spec })]);
  await writer.close();
});
