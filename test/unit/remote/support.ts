/** A Replay and an actor at the two ends of a channel, in one thread. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as later } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { type AcceptOptions, Replay, type ReplayOptions, type Spec } from "../../../src/index.ts";
// Modules that a first call would load: under a clock of turns, thousands of milliseconds pass while a busy machine reads files.
import "../../../src/remote/accept.ts";
import "../../../src/storage/open.ts";
import type { ByteChannel, ChannelHandlers } from "../../../src/remote/channels/channel.ts";
import { type RemoteWriterOptions, remoteWriter, type WriterTarget } from "../../../src/remote/index.ts";

/** The two ends of a channel that is closed at the end of the test. */
export function ends(): readonly [here: MessagePort, there: MessagePort] {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => {
    port1.close();
    port2.close();
  });
  return [port1, port2];
}

/** One end of a channel in memory: messages arrive in order, each in its own turn. */
export class MemoryChannel implements ByteChannel {
  other!: MemoryChannel;
  #handlers: ChannelHandlers | undefined;
  #isOver = false;
  /** Observes and may change sent messages; returns undefined for lost ones. */
  onSend: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> | undefined = (bytes) => bytes;
  /** The code with which the other end has closed it. */
  code: number | undefined;
  reason: string | undefined;

  receive(handlers: ChannelHandlers): void {
    this.#handlers = handlers;
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    const sent = this.#isOver ? undefined : this.onSend(bytes);
    if (sent === undefined) return;
    // Cut out of a larger buffer at an odd offset, as by Node's sockets.
    const copy = new Uint8Array(sent.length + 3).subarray(3);
    copy.set(sent);
    queueMicrotask(() => this.other.#isOver || this.other.#handlers?.message(copy));
  }

  close(code?: number, reason?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    queueMicrotask(() => {
      this.#handlers?.close(code, reason);
      this.other.#end(code, reason);
    });
  }

  #end(code?: number, reason?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.code = code;
    this.reason = reason;
    this.#handlers?.close(code, reason);
  }
}

export function memoryChannels(): [here: MemoryChannel, there: MemoryChannel] {
  const [here, there] = [new MemoryChannel(), new MemoryChannel()];
  here.other = there;
  there.other = here;
  return [here, there];
}

/** The two ends of a WebSocket on the loopback. */
async function sockets(): Promise<[here: WebSocket, there: WebSocket]> {
  const { WebSocket } = await import("ws");
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const there = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [[here]] = (await Promise.all([once(server, "connection"), once(there, "open")])) as [[WebSocket], unknown];
  onTestFinished(() => {
    here.terminate();
    there.terminate();
  });
  return [here, there];
}

/** The carriers of a conversation between two ends. */
export const CHANNELS = ["port", "channel", "ws"] as const;
export type ChannelName = (typeof CHANNELS)[number];

export async function endsOf(channel: ChannelName): Promise<readonly [here: WriterTarget & { close(): void }, there: WriterTarget & { close(): void }]> {
  return channel === "port" ? ends() : channel === "channel" ? memoryChannels() : sockets();
}

/** A writer, and the end that receives its steps. */
export async function pair<const S extends Spec, N extends string, const L extends number = 1>(
  options: ReplayOptions<S, N>,
  accept: AcceptOptions<N> = {},
  own: Omit<RemoteWriterOptions<S, L>, "spec"> = {},
  channel: ChannelName = "port",
) {
  const replay = new Replay<S, N>(options);
  const [here, there] = await endsOf(channel);
  const [accepted, writer] = await Promise.all([
    replay.acceptWriter(here as MessagePort, accept as object),
    remoteWriter<S, L>(there, { ...own, spec: options.spec } as RemoteWriterOptions<S, L>),
  ]);
  return { replay, accepted, writer, here: here as MessagePort, there: there as MessagePort };
}

/** `pair` over a channel. */
export function pairOver(channel: ChannelName): typeof pair {
  return ((options: never, accept: never, own: never) => pair(options, accept, own, channel)) as never;
}

/** Lets messages arrive. */
export async function turn(ms = 5): Promise<void> {
  await later(ms);
}

/** Waits for the effect of messages. */
export async function until(holds: () => boolean, ms = 5000): Promise<void> {
  for (const end = performance.now() + ms; !holds(); ) {
    if (performance.now() > end) throw new Error(`waited ${ms} ms in vain for ${holds}`);
    // A turn instead of a real millisecond, in which a clock of turns may count thousands.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
