/** Implements a `SampleStream` server whose draws a test defines. Items are numbered, and each has one column with one i32. */

import { writeTensor } from "../../src/reverb/tensors/tensors.ts";
import { BytesReader, DELIMITED, VARINT } from "../../src/reverb/wire/bytes-reader.ts";
import { BytesWriter } from "../../src/reverb/wire/bytes-writer.ts";
import { writeItem } from "../../src/reverb/wire/item.ts";
import { writeChunk } from "../../src/reverb/wire/tensor.ts";
import { GrpcServer, type ServerCall } from "./grpc-server.ts";

/** The message of the real server when the rate limiter times out. */
export const TIMED_OUT = "Rate Limiter: Timeout exceeded before the right to insert was acquired.";

export interface Asked {
  readonly table: string;
  readonly samples: number;
  readonly timeout: number;
}

/** A stream on the server side. */
export interface Stream {
  readonly call: ServerCall;
  /** The number of the stream, counted from 0 in the order of starts. */
  readonly number: number;
  readonly asked: Asked[];
  /** The number of requested samples that were not sent yet. */
  due: number;
  sent: number;
  /** How the client ended the stream: it sent its last request, or cancelled. */
  ended: "finished" | "cancelled" | undefined;
  /** Sends `count` samples, numbered over all streams, in one message. */
  send(count: number): void;
}

export class SampleServer {
  readonly grpc: GrpcServer;
  readonly streams: Stream[];
  readonly #next: { at: number };

  private constructor(grpc: GrpcServer, streams: Stream[], next: { at: number }) {
    this.grpc = grpc;
    this.streams = streams;
    this.#next = next;
  }

  /** The number of samples sent over all streams. */
  get sent(): number {
    return this.#next.at;
  }

  /** @param asked is called for every request; by default, all requested samples are sent immediately */
  static async start(asked: (stream: Stream, request: Asked) => void = (stream) => stream.send(stream.due), port = 0): Promise<SampleServer> {
    const streams: Stream[] = [];
    const byCall = new Map<ServerCall, Stream>();
    const next = { at: 0 };
    const grpc = await GrpcServer.start(
      {
        begin: (call) => {
          const stream: Stream = {
            call,
            number: streams.length,
            asked: [],
            due: 0,
            sent: 0,
            ended: undefined,
            send: (count) => {
              stream.due -= count;
              stream.sent += count;
              call.send(response(Array.from({ length: count }, () => next.at++)));
            },
          };
          call.stream.on("close", () => {
            stream.ended = call.stream.rstCode === 0 ? "finished" : "cancelled";
          });
          streams.push(stream);
          byCall.set(call, stream);
        },
        message: (call, bytes) => {
          const stream = byCall.get(call) as Stream;
          const request = readRequest(bytes);
          stream.asked.push(request);
          stream.due += request.samples;
          asked(stream, request);
        },
        finish: (call) => call.end(),
      },
      port,
    );
    return new SampleServer(grpc, streams, next);
  }
}

/** Returns a SampleStreamResponse. @param numbers of its samples @param without omits the chunk, so that the samples cannot be assembled */
export function response(numbers: readonly number[], without = false): Uint8Array {
  const writer = new BytesWriter();
  for (const n of [...numbers].reverse()) {
    const key = BigInt(1000 + n);
    const tensors = [writeTensor("i32", [1], Int32Array.of(n))];
    const chunk = { key, episodeId: 1n, start: 0, end: 0, sparse: false, deltaEncoded: false, tensors, uncompressedSize: 4 };
    const columns = [{ slices: [{ chunkKey: key, offset: 0, length: 1, index: 0 }], squeeze: false }];
    const entry = writer.length;
    writer.bool(3, true);
    if (!without) writeChunk(writer, 2, chunk);
    const info = writer.length;
    writer.int64(3, 7);
    writer.double(2, 0.5);
    writeItem(writer, 1, { key: BigInt(n), table: "t", priority: 1, timesSampled: 1, columns });
    writer.message(1, info);
    writer.message(1, entry);
  }
  return writer.take();
}

function readRequest(bytes: Uint8Array): Asked {
  const reader = new BytesReader(bytes, "SampleStreamRequest");
  const asked = { table: "", samples: 0, timeout: -1 };
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) asked.table = reader.string();
    else if (tag === 2 * 8 + VARINT) asked.samples = reader.int64();
    else if (tag === 3 * 8 + DELIMITED) {
      const outer = reader.enter();
      for (let inner = reader.tag(); inner !== 0; inner = reader.tag()) {
        if (inner === 1 * 8 + VARINT) asked.timeout = reader.int64();
        else reader.skip(inner);
      }
      reader.leaveMessage(outer);
    } else reader.skip(tag);
  }
  return asked;
}
