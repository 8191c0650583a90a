/** Wraps a port or socket from the moment it is passed in. Holds messages that arrive while the module that handles them is being loaded. */
import { type ByteChannel, CHANNEL_KINDS, type ChannelHandlers, channelOf, claimSocket, releaseSocket, type Socket } from "./channel.ts";
import { isPort, listen, type PortLike } from "./port.ts";

/** The maximum number of bytes of held messages. Before it is welcomed, an actor sends only its hello. */
const WAITING_BYTES = 1 << 20;

/** A channel that listens from the start, and passes held messages on when handlers are set. */
export class HeldChannel implements ByteChannel {
  readonly #channel: ByteChannel;
  #handlers: ChannelHandlers | undefined;
  /** The held messages; undefined if messages are dropped. */
  #waiting: (ArrayBuffer | Uint8Array)[] | undefined;
  #bytes = 0;
  #end: readonly [code: number | undefined, reason: string | undefined] | undefined;

  constructor(channel: ByteChannel) {
    this.#channel = channel;
    channel.receive({
      message: (bytes) => this.#receive(bytes),
      close: (code, reason) => {
        this.#end = [code, reason];
        this.#handlers?.close(code, reason);
      },
    });
  }

  get bufferedAmount(): number {
    return this.#channel.bufferedAmount ?? 0;
  }

  /** Holds messages. */
  hold(): void {
    this.#waiting ??= [];
  }

  /** Drops messages, unless there are handlers. */
  drop(): void {
    this.#waiting = undefined;
    this.#bytes = 0;
  }

  receive(handlers: ChannelHandlers): void {
    const waiting = this.#waiting ?? [];
    this.drop();
    this.#handlers = handlers;
    for (const bytes of waiting) handlers.message(bytes);
    if (this.#end !== undefined) handlers.close(...this.#end);
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    this.#channel.send(bytes);
  }

  close(code: number, reason: string): void {
    this.#channel.close(code, reason);
  }

  #receive(bytes: ArrayBuffer | Uint8Array): void {
    if (this.#handlers !== undefined) this.#handlers.message(bytes);
    else if (this.#waiting !== undefined && this.#bytes + bytes.byteLength <= WAITING_BYTES) {
      this.#waiting.push(bytes);
      this.#bytes += bytes.byteLength;
    }
  }
}

/** A port that is listened to from the start. */
class HeldPort {
  readonly #stop: () => void;
  #waiting: unknown[] = [];
  #hasEnded = false;
  #onMessage = (message: unknown): unknown => this.#waiting.push(message);
  #onEnd = () => {
    this.#hasEnded = true;
  };

  constructor(port: PortLike) {
    this.#stop = listen(
      port,
      (message) => this.#onMessage(message),
      () => this.#onEnd(),
    );
  }

  /** Works like `listen` of a port, including messages that arrived before. */
  listen(onMessage: (message: unknown) => void, onEnd: () => void): () => void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#onMessage = onMessage;
    this.#onEnd = onEnd;
    for (const message of waiting) onMessage(message);
    if (this.#hasEnded) onEnd();
    return this.#stop;
  }
}

/** Held channels by socket, since a channel can receive only once. */
const heldChannels = new WeakMap<object, HeldChannel>();

export class Arrival {
  /** Either the port or the channel is set. */
  readonly port: PortLike | undefined;
  readonly channel: HeldChannel | undefined;
  readonly #target: object;
  readonly #heldPort: HeldPort | undefined;
  #isTaken = false;

  /** Starts to listen. @throws TypeError if the target is not a port or a socket · ReplayError OUT_OF_TURN if the socket already has a writer */
  constructor(target: PortLike | Socket) {
    this.#target = target;
    if (isPort(target)) {
      this.port = target;
      this.#heldPort = new HeldPort(target);
      return;
    }
    const known = heldChannels.get(target);
    const channel = known === undefined ? channelOf(target, "port", `a MessagePort, a Worker, ${CHANNEL_KINDS}`) : undefined;
    claimSocket(target, "a writer");
    this.channel = known ?? new HeldChannel(channel as ByteChannel);
    heldChannels.set(target, this.channel);
    this.channel.hold();
  }

  /** Takes the channel permanently and returns it. */
  takeChannel(): HeldChannel {
    this.#isTaken = true;
    return this.channel as HeldChannel;
  }

  /** Takes the port permanently and listens to it, including messages that arrived before. Returns a function that stops listening. */
  takePort(onMessage: (message: unknown) => void, onEnd: () => void): () => void {
    this.#isTaken = true;
    return (this.#heldPort as HeldPort).listen(onMessage, onEnd);
  }

  /** Leaves the port or the socket unchanged, unless it was taken. */
  release(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#heldPort?.listen(
      () => {},
      () => {},
    )();
    if (this.channel === undefined) return;
    this.channel.drop();
    releaseSocket(this.#target);
  }
}
