/**
 * Tests servers that disappear, become silent, or reject calls: every call must continue, or end with an error that names the address. test/interop covers the
 * real server.
 */
import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ReplayError } from "../../../src/base/error.ts";
import { ReverbClient, type ReverbClientOptions } from "../../../src/reverb/index.ts";
import { i32, u8 } from "../../../src/schema/constructors.ts";
import { Between } from "../../support/between.ts";
import { GrpcServer, type Handler, type ServerCall } from "../../support/grpc-server.ts";
import { listen as raw } from "../../support/raw-server.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { abortAfter, useTurnClock } from "../../support/turn-clock.ts";

useTurnClock();

const spec = { act: i32() };
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function serve(handler: Handler, port?: number): Promise<GrpcServer> {
  const server = await GrpcServer.start(handler, port);
  open.push({ close: () => server.stop() });
  return server;
}

function client(address: string, options: ReverbClientOptions = {}): ReverbClient<typeof spec> {
  const made = new ReverbClient(address, { reconnectTimeoutMs: 5000, ...options, spec });
  open.push(made);
  return made;
}

/** Starts a server whose connections behave as the test defines; returns its address. */
async function listen(first: (socket: Socket) => void): Promise<string> {
  const server = await raw(first);
  open.push(server);
  return server.address;
}

/** Checks that an error names the address. */
function told(error: unknown, address: string): ReplayError {
  expect(error).toBeInstanceOf(ReplayError);
  expect((error as Error).message).toContain(address);
  return error as ReplayError;
}

const caught = (promise: unknown): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => undefined,
    (error) => error,
  );

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("a server that is silent", () => {
  it("fails with an error after connectTimeoutMs if it never answers", async () => {
    const address = await listen(() => {});
    const { insert, serverInfo } = {
      insert: client(address, { connectTimeoutMs: 60, reconnectTimeoutMs: 0 }),
      serverInfo: client(address, { connectTimeoutMs: 60 }),
    };
    for (const error of await Promise.all([caught(insert.insert({ act: 1 }, { t: 1 })), caught(serverInfo.serverInfo())]))
      expect(told(error, address).message).toContain("HTTP/2 within 60 ms");
  });

  it("fails earlier with a shorter timeout or a signal", async () => {
    const address = await listen(() => {});
    const one = client(address);
    expect(told(await caught(one.insert({ act: 1 }, { t: 1 }, { timeoutMs: 40 })), address)).toMatchObject({ code: "TIMEOUT" });
    const signal = abortAfter(40);
    expect(await caught(one.insert({ act: 1 }, { t: 1 }, { signal }))).toMatchObject({ name: "TimeoutError" });
    expect(await caught(one.sampler("t").next({ signal: abortAfter(40) }))).toMatchObject({ name: "TimeoutError" });
    const writer = one.trajectoryWriter({ numKeepAliveRefs: 1 });
    writer.append({ act: 1 });
    const sent = caught(writer.createItem("t", 1, { a: writer.history.act.slice(-1) }));
    expect(await caught(writer.flush({ timeoutMs: 40 }))).toMatchObject({ code: "TIMEOUT" });
    one.close();
    expect(await sent).toMatchObject({ code: "CLOSED" });
  });

  it("is detected with a ping, and pending items are sent over another connection", async () => {
    const twin = new ReverbTwin("t");
    const server = await serve(twin.handler);
    let isSilent = false;
    const between = await Between.start(server.port, { back: (bytes, connection) => (isSilent && connection === 0 ? Buffer.alloc(0) : bytes) });
    open.push({ close: () => between.stop() });
    const one = client(between.address, { keepAliveMs: 60, keepAliveTimeoutMs: 60, connectTimeoutMs: 500 });
    await one.insert({ act: 1 }, { t: 1 });
    isSilent = true;
    await Promise.all([one.insert({ act: 2 }, { t: 1 }), one.insert({ act: 3 }, { t: 1 })]);
    expect(twin.tables.get("t")?.size).toBe(3);
    expect(between.connections).toBe(2);
  });

  it("causes errors in writers, samplers and calls if it stays silent", async () => {
    const twin = new ReverbTwin("t");
    const server = await serve(twin.handler);
    let isSilent = false;
    const between = await Between.start(server.port, { back: (bytes) => (isSilent ? Buffer.alloc(0) : bytes) });
    open.push({ close: () => between.stop() });
    const one = client(between.address, { keepAliveMs: 60, keepAliveTimeoutMs: 60, connectTimeoutMs: 100, reconnectTimeoutMs: 200 });
    await one.insert({ act: 1 }, { t: 1 });
    isSilent = true;
    const [sample, info, insert] = await Promise.all([caught(one.sampler("t").next()), caught(one.serverInfo()), caught(one.insert({ act: 2 }, { t: 1 }))]);
    expect(told(info, between.address).message).toContain("a ping within 60 ms");
    expect(told(insert, between.address).message).toContain("200 ms (reconnectTimeoutMs), and 1 items");
    told(sample, between.address);
  });

  it("keeps a stream open for any time if it answers pings", async () => {
    const twin = new ReverbTwin("t");
    let release = () => {};
    const { confirm } = twin;
    twin.confirm = (call, keys) => {
      release = () => confirm(call, keys);
    };
    const server = await serve(twin.handler);
    let pings = 0;
    const between = await Between.start(server.port, {
      there: (bytes) => {
        // A frame of type 6 with 8 bytes is an HTTP/2 ping.
        if (bytes.length === 17 && bytes[3] === 6) pings++;
        return bytes;
      },
    });
    open.push({ close: () => between.stop() });
    const one = client(between.address, { keepAliveMs: 20, keepAliveTimeoutMs: 500 });
    const inserted = caught(one.insert({ act: 1 }, { t: 1 }));
    await later(300);
    release();
    expect(await inserted).toBeUndefined();
    // Pings every 20 ms would be too many, and a real server would close the connection.
    expect(pings).toBe(1);
  });
});

describe("a server that disappears", () => {
  it("continued writing does not use up reconnectTimeoutMs early", async () => {
    const twin = new ReverbTwin("t");
    const first = await GrpcServer.start(twin.handler);
    const one = client(first.address, { reconnectTimeoutMs: 4000 });
    await one.insert({ act: 0 }, { t: 1 });
    await first.stop();
    const writer = one.trajectoryWriter({ numKeepAliveRefs: 1 });
    for (let i = 1; i <= 150; i++) {
      writer.append({ act: i });
      void writer.createItem("t", 1, { a: writer.history.act.slice(-1) });
      await later(5);
    }
    expect(await caught(writer.flush({ timeoutMs: 1 }))).toMatchObject({
      code: "TIMEOUT",
      message: expect.stringMatching(/150 items .*confirmed by the Reverb server at .*: .*ECONNREFUSED/),
    });
    await serve(twin.handler, first.port);
    await writer.flush({ timeoutMs: 10_000 });
    expect(twin.tables.get("t")?.size).toBe(151);
  });

  it("fails the call after reconnectTimeoutMs, and a new insert works after its return", async () => {
    const twin = new ReverbTwin("t");
    const first = await GrpcServer.start(twin.handler);
    const one = client(first.address, { reconnectTimeoutMs: 150 });
    await one.insert({ act: 0 }, { t: 1 });
    await first.stop();
    const since = performance.now();
    const error = told(await caught(one.insert({ act: 1 }, { t: 1 })), first.address);
    expect(error.message).toMatch(/UNAVAILABLE: .*ECONNREFUSED.*150 ms \(reconnectTimeoutMs\), and 1 items/);
    expect(performance.now() - since).toBeGreaterThan(140);
    await serve(twin.handler, first.port);
    await one.insert({ act: 1 }, { t: 1 });
    expect(twin.tables.get("t")?.size).toBe(2);
  });

  it("is retried less and less often if it keeps ending streams, and then fails", async () => {
    const twin = new ReverbTwin("t");
    let calls = 0;
    const server = await serve({
      message: (call, bytes) => {
        if (call.method.endsWith("ServerInfo")) twin.handler.message?.(call, bytes);
        else call.end(0);
        calls++;
      },
    });
    const one = client(server.address, { reconnectTimeoutMs: 300 });
    expect(told(await caught(one.sampler("t").next()), server.address).message).toContain("it ended the stream with 100 samples to come");
    expect(told(await caught(one.insert({ act: 1 }, { t: 1 })), server.address).message).toContain("confirmed all items");
    expect(calls).toBeLessThan(20);
  });

  it.each(Array.from({ length: 14 }, (_, code) => [code]))("does not stop writers and samplers with GOAWAY and RST_STREAM of code %i", async (code) => {
    const twin = new ReverbTwin("t");
    let faults = 0;
    const server = await serve({
      ...twin.handler,
      message: (call, bytes) => {
        twin.handler.message?.(call, bytes);
        if (call.method.endsWith("ServerInfo") || faults++ > 3) return;
        if (faults % 2 === 0) call.stream.session?.goaway(code, 0);
        else call.stream.close(code);
      },
    });
    const one = client(server.address);
    for (let i = 0; i < 3; i++) await one.insert({ act: i }, { t: 1 });
    faults = 0;
    const sampler = one.sampler("t", { maxSamples: 4, maxInFlightSamplesPerWorker: 2 });
    for (let i = 0; i < 4; i++) expect((await sampler.next())?.columns).toHaveLength(1);
    expect(await sampler.next()).toBeUndefined();
    expect(twin.tables.get("t")?.size).toBe(3);
    expect(twin.wrong).toEqual([]);
  });

  it("receives new calls over another connection after GOAWAY, and close ends both connections", async () => {
    const twin = new ReverbTwin("t");
    const calls: ServerCall[] = [];
    const server = await serve({
      ...twin.handler,
      message: (call, bytes) => {
        calls.push(call);
        if (calls.length > 1 || !call.method.endsWith("ServerInfo")) twin.handler.message?.(call, bytes);
      },
    });
    const one = client(server.address);
    const held = caught(one.serverInfo());
    while (calls.length === 0) await later(1);
    calls[0]?.stream.session?.goaway(0);
    await later(1000);
    expect(Object.keys(await one.serverInfo())).toEqual(["t"]);
    expect(calls[1]?.stream.session).not.toBe(calls[0]?.stream.session);
    one.close();
    expect(await held).toMatchObject({ code: "CLOSED" });
  });

  it("causes errors with the address for any status, missing trailers and other content", async () => {
    let answer = (_: ServerCall) => {};
    const server = await serve({ message: (call) => answer(call) });
    const one = client(server.address);
    for (let status = 1; status <= 17; status++) {
      answer = ({ stream }) => stream.respond({ ":status": 200, "grpc-status": status, "grpc-message": "why%20not" }, { endStream: true });
      expect(told(await caught(one.reset("t")), server.address).message).toContain(": why not");
    }
    answer = ({ stream }) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.end();
    };
    told(await caught(one.reset("t")), server.address);
    expect(told(await caught(client(server.address, { reconnectTimeoutMs: 0 }).sampler("t").next()), server.address).code).toBe("IO");
    answer = ({ stream }) => {
      stream.respond({ ":status": 200, "content-type": "text/html" });
      stream.end("<html>");
    };
    expect(told(await caught(one.reset("t")), server.address).message).toContain("a message is compressed");
  });
});

describe("a server that is slow or misbehaves", () => {
  it("blocks the writer at a limited number of items if it reads nothing", async () => {
    const twin = new ReverbTwin("t");
    const server = await serve({ ...twin.handler, begin: ({ method, stream }) => void (method.endsWith("InsertStream") && stream.pause()) });
    const one = new ReverbClient(server.address, { spec: { image: u8(1 << 20) }, maxInFlightItems: 20 });
    open.push(one);
    await one.serverInfo();
    const image = new Uint8Array(1 << 20);
    for (let i = 0; i < image.length; i++) image[i] = (i * 2654435761) >>> 24;
    const writer = one.trajectoryWriter({ numKeepAliveRefs: 1 });
    let room: Promise<void> | undefined;
    let sent = 0;
    while (room === undefined) {
      image[0] = sent++;
      writer.append({ image });
      room = writer.createItem("t", 1, { a: writer.history.image.slice(-1) });
    }
    expect(sent).toBe(20);
    expect(await caught(writer.flush({ timeoutMs: 50 }))).toMatchObject({ code: "TIMEOUT", message: expect.stringContaining("20 items are not confirmed") });
    expect(await Promise.race([room.then(() => "room"), later(50).then(() => "none")])).toBe("none");
    await server.stop();
    open.shift();
    // The new server reads requests.
    await serve(twin.handler, server.port);
    await writer.flush({ timeoutMs: 20_000 });
    await room;
    expect(twin.tables.get("t")?.size).toBe(20);
    // Each request contains its own part of the repeated data.
    expect(Math.max(...twin.requests.map(({ bytes }) => bytes))).toBeLessThan(2.2 * 2 ** 20);
  });

  it("that never confirms makes a pending insert fail with CLOSED when the client is closed", async () => {
    const twin = new ReverbTwin("t");
    twin.confirm = () => {};
    const { address } = await serve(twin.handler);
    const one = client(address, { reconnectTimeoutMs: 0 });
    const sent = caught(one.insert({ act: 1 }, { t: 1 }));
    while (twin.came === 0) await later(5);
    one.close();
    expect(await sent).toMatchObject({ code: "CLOSED" });
  });

  it("rejects an item of one writer, and asyncDispose still waits for other writers", async () => {
    const twin = new ReverbTwin("t");
    const { confirm } = twin;
    twin.confirm = (call, keys) => void setTimeout(() => confirm(call, keys), 150);
    const { address } = await serve(twin.handler);
    const one = client(address);
    const [good, bad] = ["t", "u"].map((table) => one.writer({ keep: 1, items: [{ table, length: 1 }] }));
    await good?.append({ act: 1 });
    bad?.append({ act: 2 });
    const flushed = caught(good?.flush());
    expect(await caught(one[Symbol.asyncDispose]())).toMatchObject({ code: "NOT_FOUND" });
    expect(await flushed).toBeUndefined();
  });

  it("works if its bytes arrive one by one", async () => {
    const twin = new ReverbTwin("t");
    const server = await serve(twin.handler);
    const between = await Between.start(server.port, { isSlow: true });
    open.push({ close: () => between.stop() });
    const one = client(between.address);
    await Promise.all(Array.from({ length: 50 }, (_, act) => one.insert({ act }, { t: 1 })));
    const sampler = one.sampler("t", { maxSamples: 50 });
    const found = [];
    for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) found.push(item.columns[0]?.column.data[0]);
    expect(new Set(found).size).toBe(50);
  });

  it("may confirm unknown keys or repeat keys, and a missing confirmation causes TIMEOUT", async () => {
    const twin = new ReverbTwin("t");
    const server = await serve(twin.handler);
    const { confirm } = twin;
    twin.confirm = (call, keys) => confirm(call, [1n, 2n ** 64n - 1n, ...keys, ...keys]);
    const one = client(server.address);
    for (let act = 0; act < 5; act++) await one.insert({ act }, { t: 1 });
    twin.confirm = () => {};
    expect(told(await caught(one.insert({ act: 5 }, { t: 1 }, { timeoutMs: 1000 })), server.address)).toMatchObject({ code: "TIMEOUT" });
    expect(twin.tables.get("t")?.size).toBe(6);
  });

  it("is rejected before memory is full if it sends too many samples or an endless one", async () => {
    const twin = new ReverbTwin("t");
    const server = await serve(twin.handler);
    const one = client(server.address, { maxMessageBytes: 4000 });
    await one.insert({ act: 1 }, { t: 1 });
    twin.answer = (call, bytes) => {
      for (let i = 0; i < 10; i++) call.send(bytes);
    };
    const sampler = one.sampler("t", { maxSamples: 2, maxInFlightSamplesPerWorker: 2 });
    await sampler.next();
    await later(20);
    // Valid results are still returned.
    await sampler.next();
    const other = one.sampler("t", { maxSamples: 5, maxInFlightSamplesPerWorker: 2 });
    const ends = [];
    for (let i = 0; i < 5; i++) ends.push(await caught(other.next()));
    expect(told(ends[4], server.address).message).toContain("it sends more samples");
    twin.answer = (call, bytes) => {
      // The answer lacks end_of_sequence, which is encoded as 18 01.
      const cut = bytes.slice();
      for (let i = 0; i < cut.length - 1; i++) if (cut[i] === 0x18 && cut[i + 1] === 1 && i === cut.length - 2) cut[i + 1] = 0;
      for (let i = 0; i < 200; i++) call.send(cut);
    };
    const endless = told(await caught(one.sampler("t", { maxSamples: 1 }).next()), server.address);
    expect(endless).toMatchObject({
      code: "OUT_OF_MEMORY",
      message: expect.stringContaining("4000 bytes (maxMessageBytes)"),
    });
  });
});

it("a program exits after it closes a client that met faults", async () => {
  const twin = new ReverbTwin("t");
  const server = await serve(twin.handler);
  const silent = await listen(() => {});
  const gone = await GrpcServer.start({});
  await gone.stop();
  const program = `
    import { i32 } from "reprise";
    import { ReverbClient } from "reprise/reverb";
    const ignore = (promise) => promise.then(() => {}, () => {});
    for (const address of process.argv.slice(1)) {
      const client = new ReverbClient(address, { spec: { act: i32() } });
      ignore(client.insert({ act: 1 }, { t: 1 }));
      ignore(client.sampler("t").next());
      await ignore(client.serverInfo({ timeout: 0.2 }));
      client.close();
    }
    const closed = performance.now();
    process.on("exit", () => console.log(performance.now() - closed));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, server.address, silent, gone.address], {
    cwd: join(import.meta.dirname, "../../.."),
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (said += bytes));
  const code = await new Promise((resolve) => child.on("exit", resolve));
  // A connection attempt may take 10 s, and a lost connection is retried for 30 s, so the process must not wait for them.
  expect({ code, said, isSoon: Number(said) < 5000 }).toEqual({ code: 0, said, isSoon: true });
});
