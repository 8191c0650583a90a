/** Tests programs that start before their server: the first call waits for the server for the same time as a lost connection is retried. */
import { createServer } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { i32 } from "../../../src/index.ts";
import { ReverbClient, type ReverbClientOptions } from "../../../src/reverb/index.ts";
import { ReverbReplayBuffer, TimestepDataset, TrajectoryDataset } from "../../../src/tf-agents/index.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { abortAfter, useTurnClock } from "../../support/turn-clock.ts";

useTurnClock();

const spec = { act: i32() };
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** Returns a free port without a listener. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a server, and records the calls that it receives. */
async function serve(port: number, twin = new ReverbTwin("t")): Promise<{ readonly twin: ReverbTwin; readonly calls: string[] }> {
  const calls: string[] = [];
  const begin = ({ method }: { readonly method: string }) => void calls.push(method.split("/")[2] as string);
  const server = await GrpcServer.start({ ...twin.handler, begin }, port);
  open.push({ close: () => server.stop() });
  return { twin, calls };
}

function client(ports: readonly number[], options: ReverbClientOptions = {}): ReverbClient<typeof spec> {
  const addresses = ports.map((port) => `127.0.0.1:${port}`);
  const made = new ReverbClient(addresses, { logger: null, ...options, spec });
  open.push(made);
  return made;
}

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the error of a promise, if any, and the elapsed milliseconds. */
async function ended(promise: unknown): Promise<{ readonly error: unknown; readonly ms: number }> {
  const since = performance.now();
  const error = await Promise.resolve(promise).then(
    () => undefined,
    (reason) => reason,
  );
  return { error, ms: performance.now() - since };
}

it.each([1, 2])("writers, inserts and samplers wait for %i servers", async (count) => {
  const ports = [await freePort(), await freePort()].slice(0, count);
  const one = client(ports);
  const writer = one.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
  const all = Promise.all([writer.append({ act: 1 }), one.insert({ act: 2 }, { t: 1 }), one.signature("t")]);
  const sampled = ended(one.sampler("t").next());
  await later(200);
  const servers = await Promise.all(ports.map((port) => serve(port)));
  await all;
  await writer.flush();
  expect(servers.reduce((sum, { twin }) => sum + (twin.tables.get("t")?.size ?? 0), 0)).toBe(2);
  await vi.waitFor(() => expect(servers.every(({ calls }) => calls.includes("SampleStream"))).toBe(true), 2000);
  one.close();
  expect((await sampled).error).toMatchObject({ code: "CLOSED" });
});

it("calls wait at most reconnectTimeoutMs in total, and the error contains the address", async () => {
  const port = await freePort();
  const one = client([port], { reconnectTimeoutMs: 200 });
  const writer = one.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
  for (let act = 0; act < 5; act++) writer.append({ act });
  const { error, ms } = await ended(writer.flush());
  expect(error).toMatchObject({ code: "IO", message: expect.stringContaining("200 ms (reconnectTimeoutMs)") });
  expect((error as Error).message).toContain(`127.0.0.1:${port} ended ServerInfo with UNAVAILABLE`);
  expect(ms).toBeLessThan(600);
});

it("an unknown table fails immediately with NOT_FOUND", async () => {
  const port = await freePort();
  await serve(port);
  const { error, ms } = await ended(client([port]).insert({ act: 1 }, { u: 1 }));
  expect(error).toMatchObject({ code: "NOT_FOUND" });
  expect(ms).toBeLessThan(1000);
});

it("a timeout, a signal and close end the wait for a server", async () => {
  const ports = [await freePort()];
  const one = client(ports);
  expect((await ended(one.insert({ act: 1 }, { t: 1 }, { timeoutMs: 50 }))).error).toMatchObject({
    code: "TIMEOUT",
    message: expect.stringMatching(/ECONNREFUSED/),
  });
  expect((await ended(one.insert({ act: 1 }, { t: 1 }, { signal: abortAfter(50) }))).error).toMatchObject({ name: "TimeoutError" });
  const sampler = one.sampler("t");
  expect((await ended(sampler.next({ signal: abortAfter(50) }))).error).toMatchObject({ name: "TimeoutError" });
  const next = ended(sampler.next());
  await later(20);
  sampler.close();
  const closed = await next;
  expect(closed.error).toMatchObject({ code: "CLOSED" });
  expect(closed.ms).toBeLessThan(200);
  const last = Promise.all([ended(one.insert({ act: 1 }, { t: 1 })), ended(one.sampler("t").next()), ended(one.signature("t"))]);
  // At this time, the client is in one of the longer pauses.
  await later(500);
  const since = performance.now();
  one.close();
  for (const { error } of await last) expect(error).toMatchObject({ code: "CLOSED" });
  expect(performance.now() - since).toBeLessThan(100);
});

it.each([1, 2])("close ends the pause of a sampler that has lost %i servers", async (count) => {
  const ports = [await freePort(), await freePort()].slice(0, count);
  const servers = await Promise.all(ports.map((port) => GrpcServer.start(new ReverbTwin("t").handler, port)));
  const one = client(ports);
  const next = ended(one.sampler("t").next());
  await later(100);
  for (const server of servers) await server.stop();
  await later(900);
  const since = performance.now();
  one.close();
  expect((await next).error).toMatchObject({ code: "CLOSED" });
  expect(performance.now() - since).toBeLessThan(100);
});

it.each([1, 2])("serverInfo, buffers and datasets also wait for %i servers", async (count) => {
  // The restarted servers contain this item.
  const twin = new ReverbTwin("t");
  const before = await GrpcServer.start(twin.handler);
  await client([before.port]).insert({ act: 7 }, { t: 1 });
  await before.stop();
  const ports = [await freePort(), await freePort()].slice(0, count);
  const one = client(ports);
  const buffer = new ReverbReplayBuffer(spec, { client: one, tableName: "t", sequenceLength: 1 });
  const of = { spec: { dtype: "i32", shape: [null] } } as const;
  const loops = [buffer.asDataset(), new TrajectoryDataset(one, "t", of), new TimestepDataset(one, "t", { spec: { dtype: "i32", shape: [] } })];
  const first = async (dataset: AsyncIterable<unknown>) => {
    for await (const element of dataset) return element;
    return undefined;
  };
  const all = Promise.all([
    one.serverInfo({ timeout: 20 }),
    one.serverInfo(),
    buffer.numFrames(),
    buffer.capacity,
    buffer.getTableInfo(),
    ended(TrajectoryDataset.fromTableSignature(one, "t")),
  ]);
  const elements = Promise.all(loops.map(first));
  await later(150);
  await Promise.all(ports.map((port) => serve(port, twin)));
  const [told, info, frames, capacity, table, dataset] = await all;
  expect([Object.keys(told), Object.keys(info), frames >= 1, capacity >= 1000, table.name]).toEqual([["t"], ["t"], true, true, "t"]);
  // The table was found, but it has no signature.
  expect(dataset.error).toBeInstanceOf(RangeError);
  expect((await elements).every((element) => element !== undefined)).toBe(true);
});

it("serverInfo waits at most its timeout or reconnectTimeoutMs, and ends after a signal or close", async () => {
  const port = await freePort();
  const one = client([port], { reconnectTimeoutMs: 150 });
  const refused = expect.stringContaining(`127.0.0.1:${port} ended ServerInfo with UNAVAILABLE: connect ECONNREFUSED`);
  const byTimeout = await ended(one.serverInfo({ timeout: 0.3 }));
  expect(byTimeout.error).toMatchObject({ code: "TIMEOUT", message: refused });
  expect((byTimeout.error as Error).message).toMatch(/^timed out after 300 ms: .*ECONNREFUSED/);
  expect(byTimeout.ms).toBeGreaterThan(280);
  const alone = await ended(one.serverInfo());
  expect(alone.error).toMatchObject({ code: "IO", message: expect.stringContaining("150 ms (reconnectTimeoutMs)") });
  expect(alone.ms).toBeGreaterThan(140);
  const reason = new Error("enough");
  const aborter = new AbortController();
  const waits = ended(one.serverInfo({ timeout: 60, signal: aborter.signal }));
  await later(20);
  aborter.abort(reason);
  expect((await waits).error).toBe(reason);
  expect((await ended(one.serverInfo({ signal: aborter.signal }))).error).toBe(reason);
  expect((await ended(one.serverInfo({ signal: "now" } as never))).error).toBeInstanceOf(TypeError);
  const last = ended(one.serverInfo({ timeout: 60 }));
  await later(20);
  one.close();
  expect((await last).error).toMatchObject({ code: "CLOSED" });
  expect((await ended(client([port], { reconnectTimeoutMs: 0 }).serverInfo())).error).toMatchObject({
    code: "IO",
    message: expect.not.stringContaining("tried"),
  });
});

it("a signal or getSignatureTimeoutSecs ends the wait of datasets and buffers", async () => {
  const port = await freePort();
  const one = client([port]);
  const reason = new Error("enough");
  const begun = async (begin: (signal: AbortSignal) => unknown) => {
    const aborter = new AbortController();
    const end = ended(begin(aborter.signal));
    await later(20);
    aborter.abort(reason);
    return (await end).error;
  };
  const loop = async (dataset: AsyncIterable<unknown>) => {
    for await (const _ of dataset) return;
  };
  const buffer = new ReverbReplayBuffer(spec, { client: one, tableName: "t", sequenceLength: 1 });
  expect(await begun((signal) => loop(buffer.asDataset({ signal })))).toBe(reason);
  expect(await begun((signal) => loop(new TrajectoryDataset(one, "t", { spec: { dtype: "i32", shape: [null] }, signal })))).toBe(reason);
  expect(await begun((signal) => TrajectoryDataset.fromTableSignature(one, "t", { signal }))).toBe(reason);
  const { error } = await ended(TimestepDataset.fromTableSignature(one, "t", { getSignatureTimeoutSecs: 0.1 }));
  expect(error).toMatchObject({ code: "TIMEOUT", message: expect.stringContaining("ECONNREFUSED") });
});

it("calls that change tables, and calls that lose their connection, fail without retries", async () => {
  const port = await freePort();
  const one = client([port]);
  for (const call of [() => one.reset("t"), () => one.mutatePriorities("t", { deletes: [1n] }), () => one.checkpoint()])
    expect((await ended(call())).error).toMatchObject({ code: "IO", message: expect.not.stringContaining("tried") });
  const server = await GrpcServer.start({ begin: ({ stream }) => void stream.session?.destroy() }, port);
  open.push({ close: () => server.stop() });
  expect((await ended(one.serverInfo())).error).toMatchObject({ code: "IO", message: expect.not.stringContaining("tried") });
});
