/** Tests calls to a grpc-js server: bytes, ends and errors must equal those of the grpc-js client. */
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceError,
  status as STATUS,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Channel } from "../../../src/reverb/grpc/channel.ts";
import { HEAD } from "../../../src/reverb/grpc/frames.ts";
import { authority, certificate, key } from "../../support/certificates.ts";
import { GrpcJsClient, serviceOf } from "../../support/grpc-js.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, some } from "../../support/size.ts";

const SERVICE = "some.Service";
const UNLIMITED = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };
type Unary = ServerUnaryCall<Buffer, Buffer>;
type Streams = ServerDuplexStream<Buffer, Buffer>;

/** The headers of each received call, and whether its client disconnected. */
const told: { headers: { readonly [name: string]: unknown }; cancelled: boolean }[] = [];

const methods = {
  Echo: (call: Unary, reply: sendUnaryData<Buffer>) => {
    told.push({ headers: call.metadata.getMap(), cancelled: false });
    reply(null, call.request);
  },
  /** Fails with the status in the first byte of the request, and the rest as the message. */
  Fail: (call: Unary, reply: sendUnaryData<Buffer>) => {
    const metadata = new Metadata();
    metadata.set("reason", "told in the trailers");
    reply({ code: call.request[0], details: call.request.toString("utf8", 1), metadata } as ServiceError);
  },
  Silent: (call: Unary) => {
    const one = { headers: call.metadata.getMap(), cancelled: false };
    told.push(one);
    call.on("cancelled", () => {
      one.cancelled = true;
    });
  },
  Talk: (call: Streams) => {
    const one = { headers: call.metadata.getMap(), cancelled: false };
    told.push(one);
    const metadata = new Metadata();
    metadata.set("greeting", "before the first message");
    call.sendMetadata(metadata);
    call.on("cancelled", () => {
      one.cancelled = true;
    });
    call.on("data", (bytes: Buffer) => {
      // Some messages of a single byte are commands: fail in the middle, or end before the client does.
      if (bytes.length === 1 && bytes[0] === 1) call.emit("error", { code: STATUS.FAILED_PRECONDITION, details: "no more of this, 100 %" });
      else if (bytes.length === 1 && bytes[0] === 2) call.end();
      else if (!call.write(bytes)) {
        call.pause();
        call.once("drain", () => call.resume());
      }
    });
    call.on("end", () => call.end());
  },
};

async function serve(credentials = ServerCredentials.createInsecure()): Promise<{ readonly server: Server; readonly port: number }> {
  const server = new Server(UNLIMITED);
  server.addService(serviceOf(SERVICE, { Echo: "unary", Fail: "unary", Silent: "unary", Talk: "streams" }), methods as never);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  return { server, port };
}

function framedMessage(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(HEAD + bytes.length);
  all.set(bytes, HEAD);
  return all;
}

function noise(length: number, seed: number): Uint8Array {
  const random = new TestRandom(seed);
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let i = 0; i < words.length; i++) words[i] = random.below(2 ** 32);
  return new Uint8Array(words.buffer, 0, length);
}

describe("a grpc-js server", () => {
  let server: Server;
  let ours: Channel;
  let theirs: GrpcJsClient;
  let address: string;

  beforeAll(async () => {
    const started = await serve();
    server = started.server;
    address = `127.0.0.1:${started.port}`;
    ours = new Channel(address, SERVICE, { maxMessageBytes: 2 ** 31, connectTimeoutMs: 10_000 });
    theirs = new GrpcJsClient(address, SERVICE);
  });
  afterEach(() => {
    told.length = 0;
  });
  afterAll(() => {
    ours?.close();
    theirs?.close();
    server?.forceShutdown();
  });

  /** Runs the stream with our client: sends all requests as space permits, and stops after `answers` messages. */
  async function talk(requests: readonly Uint8Array[], answers: number): Promise<{ readonly found: Uint8Array[]; readonly error: unknown }> {
    const found: Uint8Array[] = [];
    const error = await new Promise<unknown>((resolve) => {
      let wake = () => {};
      const message = (bytes: Uint8Array) => {
        found.push(bytes.slice());
        if (found.length === answers) call.then((made) => made.finish());
      };
      const call = ours.call("Talk", { message, end: resolve, drain: () => wake() });
      call.then(async (made) => {
        for (const request of requests) {
          if (made.send(framedMessage(request))) continue;
          await new Promise<void>((drained) => {
            wake = drained;
          });
        }
      }, resolve);
    });
    return { found, error };
  }

  it.each(some([0, 1, 16_384, 65_536, 5_000_000], 4))("echoes a call with %i bytes", async (length) => {
    const bytes = noise(length, length);
    expect(Buffer.compare(await ours.unary("Echo", framedMessage(bytes)), bytes)).toBe(0);
    const [answer] = (await theirs.unary("Echo", bytes)).answers;
    expect(Buffer.compare(answer as Uint8Array, bytes)).toBe(0);
    expect(told.map(({ headers }) => Object.keys(headers))).toEqual([[], expect.arrayContaining(["user-agent"])]);
  });

  it("exchanges messages larger than the flow-control window, one by one and in a stream", async () => {
    const big = noise(scaled(40, 5) << 20, 7);
    expect(Buffer.compare(await ours.unary("Echo", framedMessage(big)), big)).toBe(0);
    const parts = Array.from({ length: scaled(24, 4) }, (_, i) => big.subarray(i << 20, (i + 2) << 20));
    const { found, error } = await talk(parts, parts.length);
    expect([error, found.length]).toEqual([undefined, parts.length]);
    for (const [i, part] of parts.entries()) expect(Buffer.compare(found[i] as Uint8Array, part)).toBe(0);
  }, 60_000);

  it("answers many parallel calls, each with its own bytes", async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => ours.unary("Echo", framedMessage(noise(10 + i * 40, i)))));
    for (const [i, answer] of answers.entries()) expect(Buffer.compare(answer, noise(10 + i * 40, i))).toBe(0);
  });

  it("streams a thousand messages in order in both directions", async () => {
    const requests = Array.from({ length: 1000 }, (_, i) => noise(2 + (i % 700), i));
    const { found, error } = await talk(requests, requests.length);
    const { answers, status } = await theirs.stream("Talk", requests, (all) => all.length === requests.length);
    expect([error, status]).toEqual([undefined, 0]);
    for (const all of [found, answers])
      expect(all.map((bytes) => Buffer.from(bytes).toString("hex"))).toEqual(requests.map((bytes) => Buffer.from(bytes).toString("hex")));
  });

  it("may end a stream early, with success or with an error", async () => {
    const text = noise(100, 1);
    const well = await talk([text, Uint8Array.of(2)], -1);
    expect([well.error, well.found.length]).toEqual([undefined, 1]);
    const bad = await talk([text, Uint8Array.of(1)], -1);
    const { details, status } = await theirs.stream("Talk", [text, Uint8Array.of(1)], () => false);
    expect(bad.error).toMatchObject({ status, details, code: "OUT_OF_TURN" });
    expect([status, details]).toEqual([9, "no more of this, 100 %"]);
  });

  const details = ["plain", "ä € 𝄞 日本語", "100 % of\nlines\tand tabs", "%41 is no A, nor %zz", "", "x".repeat(3000), "q\"uo'te,;=\\"];
  it.each(Array.from({ length: 16 }, (_, i) => i + 1))("status %i arrives with the same details as in the grpc-js client", async (code) => {
    for (const text of details) {
      const request = Uint8Array.of(code, ...new TextEncoder().encode(text));
      const error = await ours.unary("Fail", framedMessage(request)).catch((one) => one);
      const their = await theirs.unary("Fail", request);
      expect([error.status, error.details]).toEqual([code, text]);
      expect([their.status, their.details]).toEqual([code, text]);
      expect(error.message).toContain(`the Reverb server at ${address} ended Fail with ${STATUS[code]}: `);
    }
  });

  it("rejects an unknown method with UNSUPPORTED", async () => {
    const their = await theirs.unary("Nothing", new Uint8Array());
    await expect(ours.unary("Nothing", framedMessage(new Uint8Array()))).rejects.toMatchObject({ code: "UNSUPPORTED", status: 12, details: their.details });
  });

  it("notices that a deadline, a signal or cancel ended a call", async () => {
    await expect(ours.unary("Silent", framedMessage(new Uint8Array()), { timeoutMs: 50 })).rejects.toMatchObject({ code: "TIMEOUT", status: 4 });
    await expect(ours.unary("Silent", framedMessage(new Uint8Array()), { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: "TimeoutError" });
    const why = new Error("enough");
    const ended = await new Promise<unknown>((resolve) => {
      const call = ours.call("Talk", { message: () => void call.then((made) => made.cancel(why)), end: resolve });
      call.then((made) => made.send(framedMessage(noise(10, 1))), resolve);
    });
    expect(ended).toBe(why);
    await vi.waitFor(() => expect(told.map(({ cancelled }) => cancelled)).toEqual([true, true, true]));
    // The connection can still be used.
    expect(await ours.unary("Echo", framedMessage(Uint8Array.of(5)))).toEqual(Buffer.of(5));
  });

  it("works with TLS", async () => {
    const secure = await serve(ServerCredentials.createSsl(Buffer.from(authority), [{ private_key: Buffer.from(key), cert_chain: Buffer.from(certificate) }]));
    const options = { maxMessageBytes: 2 ** 31, connectTimeoutMs: 10_000, credentials: { ca: authority } };
    const channel = new Channel(`127.0.0.1:${secure.port}`, SERVICE, options);
    const big = noise(20 << 20, 3);
    expect(Buffer.compare(await channel.unary("Echo", framedMessage(big)), big)).toBe(0);
    channel.close();
    secure.server.forceShutdown();
  });

  it("is reported as lost if it stops during a stream, and its replacement is used", async () => {
    let other = await serve();
    const channel = new Channel(`127.0.0.1:${other.port}`, SERVICE, { maxMessageBytes: 2 ** 31, connectTimeoutMs: 10_000 });
    const ended = new Promise<unknown>((resolve) => {
      const call = channel.call("Talk", { message: () => other.server.forceShutdown(), end: resolve });
      call.then((made) => made.send(framedMessage(noise(10, 1))), resolve);
    });
    expect(await ended).toMatchObject({ isLost: true });
    await expect(channel.unary("Echo", framedMessage(new Uint8Array()))).rejects.toMatchObject({ isLost: true, code: "IO" });
    const { port } = other;
    const server = new Server(UNLIMITED);
    server.addService(serviceOf(SERVICE, { Echo: "unary" }), { Echo: methods.Echo } as never);
    await new Promise((resolve) => server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), resolve));
    other = { server, port };
    expect(await channel.unary("Echo", framedMessage(Uint8Array.of(1, 2)))).toEqual(Buffer.of(1, 2));
    channel.close();
    server.forceShutdown();
  });
});
