/** Defines duplex channels of whole messages: sockets of browsers, Node, Deno, Bun and Cloudflare Workers, and any object with the same three methods. */
import { mustBe, ReplayError } from "../../base/error.ts";
import { isBuffer } from "../validators.ts";

/** The handlers that a channel calls. */
export interface ChannelHandlers {
  /** Receives a message as it was sent. Do not change the bytes afterwards, since they may be read later. */
  message(bytes: ArrayBuffer | Uint8Array): void;
  /** Receives the end of the channel once, with its code and reason, if there are any. */
  close(code?: number, reason?: string): void;
}

/** A duplex channel of ordered, whole messages. Implement it for any transport: `remoteWriter` and `acceptWriter` accept it instead of a WebSocket. */
export interface ByteChannel {
  /** Sends one message. The caller does not change the bytes afterwards. No effect after the end of the channel. */
  send(bytes: Uint8Array<ArrayBuffer>): void;
  /** Ends the channel after earlier messages. The other end receives code (1000, or 4000 to 4999) and reason (at most 123 bytes). */
  close(code: number, reason: string): void;
  /** Starts to receive messages. Called once, before the first `send`. Messages that arrived earlier may be lost. */
  receive(handlers: ChannelHandlers): void;
  /** The number of bytes that were sent but have not left yet. Undefined if this number is unknown. */
  readonly bufferedAmount?: number;
}

type Listener = { onEvent(event: unknown): void }["onEvent"];

/** A WebSocket of a browser, Deno, Bun, Node 22 or the package `ws`, or the server's end of a WebSocketPair. */
export interface SocketLike {
  readonly readyState: number;
  readonly bufferedAmount?: number;
  send(data: never): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: Listener): void;
}

/** A server's socket whose events call functions of the server: `Bun.serve`, or a hibernating Durable Object. */
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

/** The values accepted as channels, as messages list them. */
export const CHANNEL_KINDS = "a WebSocket, or a ByteChannel with send, close and receive";

/** Returns a ByteChannel itself, or a channel for a WebSocket. @param rule the accepted values, for the message @throws TypeError for any other value */
export function channelOf(value: unknown, subject: string, rule: string): ByteChannel {
  if (isByteChannel(value)) return value;
  if (isSocket(value)) return new SocketChannel(value);
  throw mustBe(TypeError, subject, rule, value);
}

/** Returns a message of a socket as bytes; undefined for text, which belongs to the program. */
function bytesOf(data: unknown): ArrayBuffer | Uint8Array | undefined {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  return isBuffer(data) ? (data as ArrayBuffer) : undefined;
}

class SocketChannel implements ByteChannel {
  readonly #socket: SocketLike;
  /** The messages for a socket that is not open yet. */
  #waiting: Uint8Array[] | undefined;

  constructor(socket: SocketLike) {
    this.#socket = socket;
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount ?? 0;
  }

  receive(handlers: ChannelHandlers): void {
    const socket = this.#socket;
    // By default, browsers would pass a Blob, and the package ws would pass pieces of a larger buffer.
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
    // A close event follows. Without a listener, the package ws would end the process.
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

/** Accepts the server's end of a WebSocketPair, which receives nothing before it is accepted. A second accept throws. */
function acceptPair(socket: SocketLike): void {
  const { accept } = socket as { readonly accept?: () => void };
  if (typeof accept !== "function") return;
  try {
    accept.call(socket);
  } catch {
    // The socket is already accepted.
  }
}

/**
 * A channel for a server's socket whose events call functions of the program, as in `Bun.serve` and in Durable Objects with hibernating sockets. Call `message`
 * and `end` in these functions.
 */
export class ServerChannel implements ByteChannel {
  readonly #socket: ServerSocketLike;
  #handlers: ChannelHandlers | undefined;
  #isOver = false;

  /** Creates a channel for a socket. @param socket the argument of Bun's `open` handler, or an accepted WebSocket */
  constructor(socket: ServerSocketLike) {
    this.#socket = socket;
  }

  get bufferedAmount(): number {
    const { bufferedAmount, getBufferedAmount } = this.#socket as { readonly bufferedAmount?: number; getBufferedAmount?(): number };
    return bufferedAmount ?? getBufferedAmount?.call(this.#socket) ?? 0;
  }

  /** Passes a message of the socket to the channel. Ignores text. */
  message(data: unknown): void {
    const bytes = bytesOf(data);
    if (bytes !== undefined && !this.#isOver) this.#handlers?.message(bytes);
  }

  /** Passes the end of the socket to the channel. */
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

/** Sockets that have a writer, or wait for a writer. */
const busySockets = new WeakSet<object>();

/** Claims a socket for one end. @throws ReplayError OUT_OF_TURN if it is already claimed */
export function claimSocket(socket: object, writer: "a writer" | "a remote writer"): void {
  if (busySockets.has(socket)) throw new ReplayError("OUT_OF_TURN", `this socket already has ${writer}. Use a new socket for each writer`);
  busySockets.add(socket);
}

/** Releases a socket that was not used. */
export function releaseSocket(socket: object): void {
  busySockets.delete(socket);
}
