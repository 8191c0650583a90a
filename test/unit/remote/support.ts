/** Connects a Replay and an actor in one thread. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as later } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { type AcceptOptions, Replay, type ReplayOptions, type Spec } from "../../../src/index.ts";
// These modules are preloaded, because a clock of turns would count thousands of milliseconds while a busy machine reads them in the first call.
import "../../../src/remote/accept.ts";
import "../../../src/storage/open.ts";
import type { ByteChannel, ChannelHandlers } from "../../../src/remote/channels/channel.ts";
import { type RemoteWriterOptions, remoteWriter, type WriterTarget } from "../../../src/remote/index.ts";

/** Creates the two ends of a channel that is closed when the test ends. */
export function ends(): readonly [here: MessagePort, there: MessagePort] {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => {
    port1.close();
    port2.close();
  });
  return [port1, port2];
}

/** One end of a channel in memory. Messages arrive in order, each in a separate turn. */
export class MemoryChannel implements ByteChannel {
  other!: MemoryChannel;
  #handlers: ChannelHandlers | undefined;
  #isOver = false;
  /** Observes sent messages and may change them; returns undefined to drop one. */
  onSend: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> | undefined = (bytes) => bytes;
  /** The code with which the other end has closed the channel. */
  code: number | undefined;
  reason: string | undefined;

  receive(handlers: ChannelHandlers): void {
    this.#handlers = handlers;
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    const sent = this.#isOver ? undefined : this.onSend(bytes);
    if (sent === undefined) return;
    // The copy has an odd offset in a larger buffer, like messages of Node sockets.
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

/** Creates the two ends of a WebSocket on the loopback interface. */
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

/** All transports between two ends. */
export const CHANNELS = ["port", "channel", "ws"] as const;
export type ChannelName = (typeof CHANNELS)[number];

export async function endsOf(channel: ChannelName): Promise<readonly [here: WriterTarget & { close(): void }, there: WriterTarget & { close(): void }]> {
  return channel === "port" ? ends() : channel === "channel" ? memoryChannels() : sockets();
}

/** Creates a writer, and the accepting end that receives its steps. */
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

/** Returns `pair` for the given channel. */
export function pairOver(channel: ChannelName): typeof pair {
  return ((options: never, accept: never, own: never) => pair(options, accept, own, channel)) as never;
}

/** Waits a few milliseconds, in which sent messages arrive. */
export async function turn(ms = 5): Promise<void> {
  await later(ms);
}

/** Waits until a condition holds. */
export async function until(holds: () => boolean, ms = 5000): Promise<void> {
  for (const end = performance.now() + ms; !holds(); ) {
    if (performance.now() > end) throw new Error(`waited ${ms} ms in vain for ${holds}`);
    // The loop waits for a turn instead of a real millisecond, in which a clock of turns may count thousands.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
