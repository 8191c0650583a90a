/** Makes calls with grpc-js, the usual implementation in Node, with messages as plain bytes. It is a peer for our implementation. */
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceDefinition, type StatusObject } from "@grpc/grpc-js";

const asIs = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
const UNLIMITED = { "grpc.max_receive_message_length": -1, "grpc.max_send_message_length": -1 };

/** Returns the definition of a server with these methods, for one or more messages in both directions: `server.addService(serviceOf(…), { … })`. */
export function serviceOf(service: string, methods: { readonly [name: string]: "unary" | "streams" }): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(methods).map(([name, kind]) => {
      const streams = kind === "streams";
      const codec = { requestSerialize: asIs, requestDeserialize: asIs, responseSerialize: asIs, responseDeserialize: asIs };
      return [name, { path: `/${service}/${name}`, requestStream: streams, responseStream: streams, ...codec }];
    }),
  );
}

/** The end of a call, and the messages before it. */
export interface Ended {
  readonly answers: readonly Uint8Array[];
  readonly status: number;
  readonly details: string;
}

export class GrpcJsClient {
  readonly #client: Client;
  readonly #service: string;

  constructor(address: string, service: string) {
    this.#client = new Client(address, credentials.createInsecure(), UNLIMITED);
    this.#service = service;
  }

  async unary(method: string, request: Uint8Array): Promise<Ended> {
    return await new Promise((resolve) => {
      this.#client.makeUnaryRequest(`/${this.#service}/${method}`, asIs, asIs, request, new Metadata(), (error, answer) => {
        resolve(error === null ? { answers: [answer as Buffer], status: 0, details: "" } : { answers: [], status: error.code, details: error.details });
      });
    });
  }

  /** Sends all requests, and ends the call once `isAll` accepts the responses. */
  async stream(method: string, requests: readonly Uint8Array[], isAll: (answers: readonly Uint8Array[]) => boolean): Promise<Ended> {
    const call = this.#client.makeBidiStreamRequest(`/${this.#service}/${method}`, asIs, asIs) as ClientDuplexStream<Uint8Array, Buffer>;
    const found: Uint8Array[] = [];
    const ended = new Promise<StatusObject>((resolve) => call.on("status", resolve));
    call.on("error", () => {});
    call.on("data", (bytes: Buffer) => {
      found.push(bytes);
      if (isAll(found)) call.end();
    });
    for (const request of requests) call.write(request);
    const { code, details } = await ended;
    return { answers: found, status: code, details };
  }

  close(): void {
    this.#client.close();
  }
}
