/**
 * A link carries messages between the two ends: as objects over a port, as frames over a socket. The code that uses links is the same for ports and sockets.
 */
import { ReplayError } from "../../base/error.ts";
import { corruptFrame, type Frame, type KindName, makeFrame, readFrame } from "../wire/frame.ts";
import type { BlockMessage, ColumnsMessage, ToActor, ToMemory, UserMessage } from "../wire/messages.ts";
import type { ByteChannel } from "./channel.ts";
import { CLOSE, reasonText, withCloseCode } from "./close-codes.ts";
import { type Control, listen, type PortLike } from "./port.ts";

type AnyMessage = ToActor | ToMemory;

export interface Link {
  /** Receives each message, with the number of bytes of its frame. */
  onMessage: (message: never, bytes: number) => void;
  /** Runs once, when the other end is gone. */
  onEnd: (code?: number, reason?: string) => void;
  /** Runs if a message breaks the protocol, or if no messages arrive any more. */
  onFault: (error: ReplayError) => void;
  /** Whether the link was closed, or broke. */
  readonly isOver?: boolean;
  /** Whether sent buffers are transferred, and return with a confirmation. */
  readonly transfers: boolean;
  /** The number of bytes that were posted but have not left yet. */
  readonly buffered: number;
  /** Sends a message. Returns the number of bytes of its frame. */
  post(message: AnyMessage, transfer?: readonly object[]): number;
  /** Sets whether the link keeps a Node process alive. */
  keepAlive(isAlive: boolean): void;
  /** Closes the link. Messages posted before still arrive. */
  close(code?: number, reason?: string): void;
}

/** One end of a separate port for this connection. */
export class PortLink implements Link {
  onMessage: (message: never, bytes: number) => void = () => {};
  onEnd: (code?: number, reason?: string) => void = () => {};
  onFault: (error: ReplayError) => void = () => {};
  readonly transfers = true;
  readonly buffered = 0;
  readonly #port: PortLike & Control;
  readonly #stop: () => void;

  constructor(port: PortLike) {
    this.#port = port;
    const onMessage = (message: unknown) => this.onMessage(message as never, 0);
    this.#stop = listen(port, onMessage, () => this.onEnd());
  }

  post(message: object, transfer: readonly object[] = []): number {
    this.#port.postMessage(message, transfer);
    return 0;
  }

  keepAlive(isAlive: boolean): void {
    if (isAlive) this.#port.ref?.();
    else this.#port.unref?.();
  }

  close(): void {
    this.#stop();
    this.#port.close?.();
  }
}

/** Converts steps to frames (the writer's end), or frames to steps (the Replay's end). */
export interface StepCodec {
  encode?(message: BlockMessage | ColumnsMessage): Frame;
  decode?(frame: Frame): BlockMessage | ColumnsMessage;
}

/** The maximum number of bytes of a frame before the welcome. It has to suffice for a hello, which names all leaves of a spec. */
const HELLO_BYTES = 1 << 20;
/** If at least this many bytes are unsent, a ping is not answered, because the unsent bytes will show that this end is alive. */
const PONG_BYTES = 1 << 16;

/** One end of a socket. */
export class SocketLink implements Link {
  onMessage: (message: never, bytes: number) => void = () => {};
  onEnd: (code?: number, reason?: string) => void = () => {};
  onFault: (error: ReplayError) => void = (error) => this.close(CLOSE.broken, error.message);
  readonly transfers = false;
  /** Converts steps after the welcome. */
  codec: StepCodec = {};
  maxBytes = HELLO_BYTES;
  readonly #channel: ByteChannel;
  readonly #kinds: ReadonlySet<KindName>;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #receivedAt = performance.now();
  #pinged = false;

  /** @param kinds the messages that the other end may send, in addition to pings */
  constructor(channel: ByteChannel, kinds: ReadonlySet<KindName>) {
    this.#channel = channel;
    this.#kinds = kinds;
  }

  /** Whether the link was closed, or broke. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Starts to receive. */
  open(): void {
    this.#channel.receive({
      message: (bytes) => this.#receive(bytes),
      close: (code, reason) => this.#end(code, reason),
    });
  }

  get buffered(): number {
    return this.#channel.bufferedAmount ?? 0;
  }

  post(message: AnyMessage): number {
    const { kind, ...fields } = message;
    let frame: Frame;
    if (kind === "block" || kind === "columns") frame = (this.codec.encode as NonNullable<StepCodec["encode"]>)(message as BlockMessage);
    else if (kind === "message") {
      const { number, type, body } = message as UserMessage;
      frame = makeFrame(kind, { number, type }, body.length);
      frame.bytes.set(body, frame.body);
    } else frame = makeFrame(kind as KindName, fields);
    this.#send(frame);
    return frame.bytes.length;
  }

  /** Sends a ping after `ms` milliseconds without a message, and reports a fault after another `timeoutMs` milliseconds. */
  watch(ms: number, timeoutMs: number): void {
    clearTimeout(this.#timer);
    const check = () => {
      const silence = performance.now() - this.#receivedAt;
      if (silence < ms) this.#pinged = false;
      else if (!this.#pinged) {
        this.#pinged = true;
        this.#send(makeFrame("ping", {}));
      } else if (silence >= ms + timeoutMs) {
        this.onFault(withCloseCode(new ReplayError("TIMEOUT", `the other end sent nothing for ${ms + timeoutMs} ms`), CLOSE.silent));
        return;
      }
      schedule((this.#pinged ? ms + timeoutMs : ms) - silence);
    };
    const schedule = (after: number) => {
      if (this.#isOver) return;
      this.#timer = setTimeout(check, Math.max(1, after));
      // The timer must not keep a Node process alive.
      (this.#timer as { unref?(): void }).unref?.();
    };
    schedule(ms);
  }

  keepAlive(): void {}

  close(code: number = CLOSE.normal, reason = ""): void {
    if (this.#isOver) return;
    this.#stop();
    try {
      this.#channel.close(code, reasonText(reason));
    } catch {
      // The channel is already broken.
    }
  }

  #send({ bytes }: Frame): void {
    if (this.#isOver) return;
    try {
      this.#channel.send(bytes);
    } catch {
      // The channel has broken. Some channels report that later, and some never report it.
      queueMicrotask(() => this.#end());
    }
  }

  #receive(message: ArrayBuffer | Uint8Array): void {
    if (this.#isOver) return;
    this.#receivedAt = performance.now();
    try {
      if (message.byteLength > this.maxBytes)
        throw withCloseCode(corruptFrame(`has ${message.byteLength} bytes, but at most ${this.maxBytes} are allowed`), CLOSE.tooLarge);
      const frame = readFrame(message);
      if (frame.kind === "ping") {
        if (this.buffered < PONG_BYTES) this.#send(makeFrame("pong", {}));
      } else if (frame.kind !== "pong") this.onMessage(this.#messageOf(frame) as never, frame.bytes.length);
    } catch (error) {
      if (!(error instanceof ReplayError)) throw error;
      this.onFault(error);
    }
  }

  #messageOf(frame: Frame): object {
    const { kind, fields, bytes, body } = frame;
    if (!this.#kinds.has(kind)) throw corruptFrame(`of the kind ${kind} came from the wrong end`);
    if (kind === "message") return { ...fields, kind, body: bytes.slice(body) };
    if (kind !== "block" && kind !== "columns") return { ...fields, kind };
    // Before the welcome, there is no codec, so steps are not decoded.
    return this.codec.decode?.(frame) ?? { kind };
  }

  #end(code?: number, reason?: string): void {
    if (this.#isOver) return;
    this.#stop();
    this.onEnd(code, reason);
  }

  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
