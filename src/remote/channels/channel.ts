/** Duplex channels of whole messages: sockets of browsers, of Node, Deno, Bun and Cloudflare Workers, and whatever has the same three methods. */
import { mustBe, ReplayError } from "../../base/error.ts";
import { isBuffer } from "../validators.ts";

/** What a channel calls. Each call is a method, so that plain functions fit. */
export interface ChannelHandlers {
  /** Receives a message as it was sent. The bytes must not change afterwards: what waits is read later. */
  message(bytes: ArrayBuffer | Uint8Array): void;
  /** Receives the end of the channel, once, with code and reason where there are some. */
  close(code?: number, reason?: string): void;
}

/**
 * A duplex channel of messages in order, each whole. Implement it for any transport: `remoteWriter` and `acceptWriter` take it where they take a WebSocket.
 */
export interface ByteChannel {
  /** Sends one message. The bytes are not changed afterwards. A call after the end does nothing. */
  send(bytes: Uint8Array<ArrayBuffer>): void;
  /** Ends the channel, after what was sent before. The other end receives code (1000, or 4000 to 4999) and reason (at most 123 bytes). */
  close(code: number, reason: string): void;
  /** Starts to receive. Called once, before anything is sent. What came before may be lost. */
  receive(handlers: ChannelHandlers): void;
  /** Bytes that were sent and have not left yet, if the channel can tell. */
  readonly bufferedAmount?: number;
}

type Listener = { onEvent(event: unknown): void }["onEvent"];

/** A WebSocket: of browsers, Deno, Bun and Node 22, of the package `ws`, or the server's end of a WebSocketPair. */
export interface SocketLike {
  readonly readyState: number;
  readonly bufferedAmount?: number;
  send(data: never): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: Listener): void;
}

/** A server's socket whose events call functions that the server was given: `Bun.serve`, a Durable Object that hibernates. */
export interface ServerSocketLike {
  send(data: never): unknown;
  close(code?: number, reason?: string): void;
}

/** A channel: a WebSocket, or a `ByteChannel`. */
export type Socket = SocketLike | ByteChannel;

const CONNECTING = 0;
const OPEN = 1;

export function isByteChannel(value: unknown): value is ByteChannel {
  const { send, close, receive } = (value ?? {}) as ByteChannel;
  return typeof send === "function" && typeof close === "function" && typeof receive === "function";
}

export function isSocket(value: unknown): value is SocketLike {
  const { send, close, addEventListener, readyState } = (value ?? {}) as SocketLike;
  return typeof send === "function" && typeof close === "function" && typeof addEventListener === "function" && typeof readyState === "number";
}

/** What is a channel, or has one. */
export const CHANNEL_KINDS = "a WebSocket, or a ByteChannel with send, close and receive";

/** The channel that a value is, or has. @param rule what it may be @throws TypeError */
export function channelOf(value: unknown, subject: string, rule: string): ByteChannel {
  if (isByteChannel(value)) return value;
  if (isSocket(value)) return new SocketChannel(value);
  throw mustBe(TypeError, subject, rule, value);
}

/** A message of a socket as bytes; undefined for text, which is the program's own. */
function bytesOf(data: unknown): ArrayBuffer | Uint8Array | undefined {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  return isBuffer(data) ? (data as ArrayBuffer) : undefined;
}

class SocketChannel implements ByteChannel {
  readonly #socket: SocketLike;
  /** Messages for a socket that is not open yet. */
  #waiting: Uint8Array[] | undefined;

  constructor(socket: SocketLike) {
    this.#socket = socket;
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount ?? 0;
  }

  receive(handlers: ChannelHandlers): void {
    const socket = this.#socket;
    // Browsers would give a Blob, and the package ws pieces of a larger buffer.
    (socket as { binaryType?: string }).binaryType = "arraybuffer";
    socket.addEventListener("message", (event) => {
      const bytes = bytesOf((event as { readonly data: unknown }).data);
      if (bytes !== undefined) handlers.message(bytes);
    });
    let hasEnded = false;
    const end = (code?: number, reason?: string) => {
      if (!hasEnded) handlers.close(code, reason);
      hasEnded = true;
    };
    socket.addEventListener("close", (event) => {
      const { code, reason } = event as { readonly code?: number; readonly reason?: string };
      end(code, reason);
    });
    // A close follows. Without a listener, the package ws would end the process.
    socket.addEventListener("error", () => {});
    if (socket.readyState === CONNECTING) {
      this.#waiting = [];
      socket.addEventListener("open", () => {
        const waiting = this.#waiting ?? [];
        this.#waiting = undefined;
        for (const bytes of waiting) this.send(bytes as Uint8Array<ArrayBuffer>);
      });
    }
    acceptPair(socket);
    if (socket.readyState > OPEN) queueMicrotask(() => end());
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#waiting !== undefined) this.#waiting.push(bytes);
    else if (this.#socket.readyState === OPEN) this.#socket.send(bytes as never);
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }
}

/** The server's end of a WebSocketPair says nothing before it is accepted; one that was accepted already refuses. */
function acceptPair(socket: SocketLike): void {
  const { accept } = socket as { readonly accept?: () => void };
  if (typeof accept !== "function") return;
  try {
    accept.call(socket);
  } catch {
    // It was accepted before.
  }
}

/**
 * A channel for a server's socket whose events call functions of the program: call `message` and `end` in those. For `Bun.serve`, and for Durable Objects whose sockets
 * hibernate.
 */
export class ServerChannel implements ByteChannel {
  readonly #socket: ServerSocketLike;
  #handlers: ChannelHandlers | undefined;
  #isOver = false;

  /** @param socket what `open` of Bun's handlers receives, or an accepted WebSocket */
  constructor(socket: ServerSocketLike) {
    this.#socket = socket;
  }

  get bufferedAmount(): number {
    const { bufferedAmount, getBufferedAmount } = this.#socket as { readonly bufferedAmount?: number; getBufferedAmount?(): number };
    return bufferedAmount ?? getBufferedAmount?.call(this.#socket) ?? 0;
  }

  /** Passes a message on. Text is ignored. */
  message(data: unknown): void {
    const bytes = bytesOf(data);
    if (bytes !== undefined && !this.#isOver) this.#handlers?.message(bytes);
  }

  /** Passes the end of the socket on. */
  end(code?: number, reason?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handlers?.close(code, reason);
  }

  receive(handlers: ChannelHandlers): void {
    this.#handlers = handlers;
    if (this.#isOver) queueMicrotask(() => handlers.close());
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.#isOver) this.#socket.send(bytes as never);
  }

  close(code: number, reason: string): void {
    if (!this.#isOver) this.#socket.close(code, reason);
  }
}

/** Sockets that have a writer, or wait for one. */
const busySockets = new WeakSet<object>();

/** Takes a socket for one of the two ends. @throws ReplayError OUT_OF_TURN where it has one */
export function claimSocket(socket: object, writer: "a writer" | "a remote writer"): void {
  if (busySockets.has(socket)) throw new ReplayError("OUT_OF_TURN", `this socket already has ${writer}: a socket has one, to its end`);
  busySockets.add(socket);
}

/** Gives a socket back of which nothing was used. */
export function releaseSocket(socket: object): void {
  busySockets.delete(socket);
}
