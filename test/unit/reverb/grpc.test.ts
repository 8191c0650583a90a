/** Tests calls over HTTP/2: messages, ends and faults. test/interop covers the real server. */

import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Channel } from "../../../src/reverb/grpc/channel.ts";
import { FrameReader, frameMessage, HEAD } from "../../../src/reverb/grpc/frames.ts";
import { GrpcServer, type Handler } from "../../support/grpc-server.ts";
import { TestRandom } from "../../support/random.ts";
import { listen as raw } from "../../support/raw-server.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function serve(handler: Handler, port?: number): Promise<GrpcServer> {
  const server = await GrpcServer.start(handler, port);
  open.push({ close: () => server.stop() });
  return server;
}

async function listen(first: (socket: Socket) => void): Promise<string> {
  const server = await raw(first);
  open.push(server);
  return server.address;
}

function channel(address: string, options: { maxMessageBytes?: number; connectTimeoutMs?: number } = {}): Channel {
  const made = new Channel(address, "some.Service", { maxMessageBytes: 2 ** 31, connectTimeoutMs: 5000, ...options });
  open.push(made);
  return made;
}

function message(...bytes: number[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(...new Uint8Array(HEAD), ...bytes);
}

const echo: Handler = { message: (call, bytes) => call.send(bytes), finish: (call) => call.end() };

describe("frames", () => {
  it("produce the same messages, however the bytes are split", () => {
    const random = new TestRandom(1);
    const sizes = [0, 1, 5, 300, 70_000, 0, 2];
    const all = sizes.flatMap((size) => [...frameMessage(new Uint8Array(HEAD + size).fill(size & 255))]);
    for (let i = 0; i < 50; i++) {
      const found: number[] = [];
      const frames = new FrameReader(2 ** 20, (bytes) => {
        expect(bytes.every((byte) => byte === (bytes.length & 255))).toBe(true);
        found.push(bytes.length);
      });
      for (let at = 0; at < all.length; ) {
        const length = 1 + random.below(random.pick([3, 10, 1000, 100_000]));
        frames.push(Uint8Array.from(all.slice(at, at + length)));
        at += length;
        expect(frames.isPartial || at >= all.length || found.length > 0).toBe(true);
      }
      expect(found).toEqual(sizes);
      expect(frames.isPartial).toBe(false);
    }
  });
});

describe("unary calls", () => {
  it("return their answers, in one piece or byte by byte, if many run in parallel", async () => {
    const { address } = await serve({
      message: (call, bytes) => {
        expect(call.method).toBe("/some.Service/Echo");
        call.send(bytes, bytes[0] === 1 ? 1 : undefined);
      },
      finish: (call) => call.end(),
    });
    const client = channel(address);
    const answers = await Promise.all([1, 2, 3, 1].map((first) => client.unary("Echo", message(first, 9, 9))));
    expect(answers.map((bytes) => [...bytes])).toEqual([[1, 9, 9], [2, 9, 9], [3, 9, 9], [1, 9, 9]]); // biome-ignore format: one line
  });

  it.each([
    [3, "Invalid", "INVALID_DATA", "INVALID_ARGUMENT"],
    [4, "late", "TIMEOUT", "DEADLINE_EXCEEDED"],
    [5, "Priority table ä % was not found", "NOT_FOUND", "NOT_FOUND"],
    [9, "x", "OUT_OF_TURN", "FAILED_PRECONDITION"],
    [12, "", "UNSUPPORTED", "UNIMPLEMENTED: no details"],
    [13, "x", "IO", "INTERNAL"],
    [77, "x", "IO", "status 77"],
  ])("status %i becomes an error with a code, the address and the server's text", async (status, text, code, name) => {
    const { address } = await serve({ finish: (call) => call.end(status, text) });
    const error = await channel(address)
      .unary("Reset", message())
      .catch((one: Error) => one);
    expect(error).toMatchObject({ code, status, details: text, message: expect.stringContaining(`the Reverb server at ${address} ended Reset with ${name}`) });
    expect((error as Error).message).toContain(text);
  });

  it("fail with IO if the answer is a bare HTTP status", async () => {
    const { address } = await serve({
      begin: ({ stream }) => {
        stream.respond({ ":status": 503 });
        stream.end();
      },
    });
    await expect(channel(address).unary("Reset", message())).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("HTTP status 503") });
  });

  it("fail without an answer, after a signal, and after a deadline", async () => {
    const { address } = await serve({ message: (call, bytes) => void (bytes[0] === 0 && call.end()) });
    const client = channel(address);
    await expect(client.unary("Reset", message(0))).rejects.toThrow("no answer");
    await expect(client.unary("Reset", message(1), { timeoutMs: 30 })).rejects.toMatchObject({
      code: "TIMEOUT",
      message: expect.stringContaining("within 30 ms"),
    });
    const waiting = client.unary("Reset", message(1), { signal: AbortSignal.timeout(30) });
    await expect(waiting).rejects.toMatchObject({ name: "TimeoutError" });
    await expect(client.unary("Reset", message(1), { signal: AbortSignal.abort(new Error("mine")) })).rejects.toThrow("mine");
  });
});

describe("faults", () => {
  it("a call without a server fails with IO and names the address", async () => {
    const server = await serve(echo);
    await server.stop();
    open.length = 0;
    const error = await channel(server.address)
      .unary("Reset", message())
      .catch((one: Error) => one);
    expect(error).toMatchObject({ code: "IO", isLost: true });
    expect((error as Error).message).toMatch(/^the Reverb server at 127\.0\.0\.1:\d+ ended Reset with UNAVAILABLE: .*ECONNREFUSED.*server runs/);
  });

  it("a call fails if the server never answers or uses another protocol", async () => {
    const other = await listen((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await expect(channel(other).unary("Reset", message())).rejects.toMatchObject({ code: "IO", isLost: true });
    const silent = await listen(() => {});
    await expect(channel(silent).unary("Reset", message(), { timeoutMs: 100 })).rejects.toMatchObject({ code: "TIMEOUT" });
  });

  it("a broken connection fails the call, and the next call reconnects", async () => {
    let server = await serve({ message: () => void server.stop() });
    open.length = 0;
    const client = channel(server.address);
    await expect(client.unary("Reset", message())).rejects.toMatchObject({ isLost: true, message: expect.stringContaining("the connection was lost") });
    await expect(client.unary("Reset", message())).rejects.toMatchObject({ isLost: true });
    server = await serve(echo, server.port);
    expect([...(await client.unary("Reset", message(5)))]).toEqual([5]);
  });

  it.each([
    ["a message that is cut off", (send: (...bytes: number[]) => void) => send(0, 0, 0, 0, 9, 1, 2), "its last message is cut off"],
    ["a compressed message", (send: (...bytes: number[]) => void) => send(1, 0, 0, 0, 1, 1), "a message is compressed"],
    [
      "a message beyond the limit",
      (send: (...bytes: number[]) => void) => send(0, 0xff, 0, 0, 0),
      "a message has 4278190080 bytes, and maxMessageBytes is 1000",
    ],
  ])("rejects %s", async (_, answer, why) => {
    const { address } = await serve({
      finish: (call) => {
        call.stream.respond({ ":status": 200 }, { waitForTrailers: true });
        answer((...bytes) => call.stream.write(Uint8Array.from(bytes)));
        call.stream.end();
      },
    });
    await expect(channel(address, { maxMessageBytes: 1000 }).unary("Reset", message())).rejects.toThrow(why);
  });

  it("a closed channel rejects calls with CLOSED", async () => {
    const { address } = await serve(echo);
    const client = channel(address);
    await client.unary("Reset", message(1));
    client.close();
    await expect(client.unary("Reset", message(1))).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("streams", () => {
  it("deliver messages in both directions in order, and end once after all of them", async () => {
    const { address } = await serve(echo);
    const found: number[] = [];
    const ended = await new Promise<unknown>((resolve) => {
      const call = channel(address).call("Echo", { message: (bytes) => found.push(bytes[0] as number), end: resolve });
      call.then((made) => {
        for (let i = 0; i < 200; i++) made.send(message(i));
        made.finish();
      }, resolve);
    });
    expect(ended).toBeUndefined();
    expect(found).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  it("send returns false if the server does not read, until it drains", async () => {
    let read = () => {};
    const { address } = await serve({
      begin: ({ stream }) => {
        stream.pause();
        read = () => stream.resume();
      },
      finish: (call) => call.end(),
    });
    let drained = () => {};
    const drain = new Promise<void>((resolve) => {
      drained = resolve;
    });
    let end: (error: unknown) => void = () => {};
    const ended = new Promise<unknown>((resolve) => {
      end = resolve;
    });
    const call = await channel(address).call("Echo", { message: () => {}, end, drain: () => drained() });
    let sent = 0;
    while (sent < 1000 && call.send(new Uint8Array(HEAD + 100_000))) sent++;
    expect(sent).toBeLessThan(50);
    await new Promise((resolve) => setTimeout(resolve, 50));
    read();
    await drain;
    call.finish();
    expect(await ended).toBeUndefined();
  });

  it("an error thrown by a handler ends the call, and the server notices", async () => {
    let closed = () => {};
    const told = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { address } = await serve({
      begin: (call) => {
        call.stream.on("close", closed);
        call.send(Uint8Array.of(1));
      },
    });
    const wrong = new Error("wrong");
    const ended = await new Promise<unknown>((resolve) => {
      channel(address)
        .call("Echo", {
          message: () => {
            throw wrong;
          },
          end: resolve,
        })
        .catch(resolve);
    });
    expect(ended).toBe(wrong);
    await told;
  });
});
