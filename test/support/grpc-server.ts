/** Implements an HTTP/2 server that responds to calls as a test defines. */
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { FrameReader, frameMessage, HEAD } from "../../src/reverb/grpc/frames.ts";

export interface ServerCall {
  readonly method: string;
  readonly stream: ServerHttp2Stream;
  /** Sends a message, whole or in pieces of `pieces` bytes. */
  send(bytes: Uint8Array, pieces?: number): void;
  /** Ends the call. */
  end(status?: number, message?: string): void;
}

export interface Handler {
  begin?(call: ServerCall): void;
  message?(call: ServerCall, bytes: Uint8Array): void;
  /** Is called when the client has no more messages. */
  finish?(call: ServerCall): void;
}

export class GrpcServer {
  readonly address: string;
  readonly port: number;
  readonly #server: Http2Server | Http2SecureServer;
  readonly #sessions: Set<ServerHttp2Session>;

  private constructor(server: Http2Server | Http2SecureServer, sessions: Set<ServerHttp2Session>) {
    this.#server = server;
    this.#sessions = sessions;
    this.port = (server.address() as AddressInfo).port;
    this.address = `127.0.0.1:${this.port}`;
  }

  /** @param secure for TLS */
  static async start(handler: Handler, port = 0, secure?: SecureServerOptions): Promise<GrpcServer> {
    const server = secure === undefined ? createServer() : createSecureServer(secure);
    // Clients that do not trust the server report an error and leave.
    server.on("sessionError", () => {});
    const sessions = new Set<ServerHttp2Session>();
    server.on("session", (session) => {
      sessions.add(session);
      session.on("close", () => sessions.delete(session));
    });
    server.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      let open = false;
      const respond = () => {
        if (!open) stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        open = true;
      };
      let trailers: { [name: string]: string } = { "grpc-status": "0" };
      stream.on("wantTrailers", () => stream.sendTrailers(trailers));
      const call: ServerCall = {
        method: String(headers[":path"]),
        stream,
        send: (bytes, pieces) => {
          if (stream.destroyed || stream.writableEnded) return;
          respond();
          const frame = new Uint8Array(HEAD + bytes.length);
          frame.set(bytes, HEAD);
          frameMessage(frame);
          for (let at = 0; at < frame.length; at += pieces ?? frame.length) stream.write(frame.slice(at, at + (pieces ?? frame.length)));
        },
        end: (status = 0, message = "") => {
          if (stream.destroyed || stream.writableEnded) return;
          respond();
          trailers = { "grpc-status": String(status), ...(message === "" ? {} : { "grpc-message": encodeURIComponent(message) }) };
          stream.end();
        },
      };
      handler.begin?.(call);
      const frames = new FrameReader(2 ** 31, (bytes) => handler.message?.(call, bytes));
      stream.on("data", (bytes: Uint8Array) => frames.push(bytes));
      stream.on("end", () => handler.finish?.(call));
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return new GrpcServer(server, sessions);
  }

  /** Breaks all connections and stops listening. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const session of this.#sessions) session.destroy();
    await closed;
  }
}
