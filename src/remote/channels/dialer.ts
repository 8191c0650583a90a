/** Implements the writer's end of a socket: sends a hello on each socket, and reconnects with a new socket if it can make sockets. */
import { ReplayError } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { socketClosed } from "../handshake.ts";
import { kindOfMessage } from "../validators.ts";
import type { KindName } from "../wire/frame.ts";
import { type InviteMessage, type ToActor, VERSION } from "../wire/messages.ts";
import { StepEncoder } from "../wire/wire.ts";
import { type ByteChannel, CHANNEL_KINDS, channelOf } from "./channel.ts";
import { CLOSE, closeCodeOf, isFinal } from "./close-codes.ts";
import type { Conversation } from "./conversation.ts";
import { SocketLink } from "./link.ts";

/** The messages that the Replay's end sends. */
const FROM_MEMORY: ReadonlySet<KindName> = new Set(["invite", "welcome", "refused", "confirmation", "flushed", "closed", "message"]);

/** The first and the longest pause before another attempt, in milliseconds. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** The maximum time from the start of a socket to its welcome, in milliseconds. */
const WELCOME_MS = 10_000;

export interface DialerOptions {
  /** Makes a new socket; undefined if there is only the first channel. */
  readonly connect: (() => unknown) | undefined;
  /** The first channel. */
  readonly channel: ByteChannel | undefined;
  readonly reconnectTimeoutMs: number;
  readonly leaves: readonly PlacedLeaf[];
  readonly lanes: number;
}

export class Dialer {
  readonly #conversation: Conversation;
  readonly #options: DialerOptions;
  #link: SocketLink | undefined;
  #isOver = false;
  #pauseMs = FIRST_PAUSE_MS;
  /** The time at which the writer was created or last lost its connection. */
  #lostAt = performance.now();
  #isWelcome = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The reason why the last attempt failed, unless another attempt is running. */
  #reason: Error | undefined;
  /** The timer that ends all attempts, even an attempt that is still running. */
  #deadline: ReturnType<typeof setTimeout> | undefined;

  constructor(conversation: Conversation, options: DialerOptions) {
    this.#conversation = conversation;
    this.#options = options;
  }

  async dial(): Promise<void> {
    const { connect, channel } = this.#options;
    let socket: unknown = channel;
    this.#reason = undefined;
    if (connect !== undefined && this.#deadline === undefined) this.#watchDeadline();
    try {
      if (connect !== undefined) socket = await connect();
    } catch (error) {
      // This includes TypeError, which `fetch` throws without a network.
      this.#retry(error as Error);
      return;
    }
    try {
      const next = connect === undefined ? (channel as ByteChannel) : channelOf(socket, "the result of the socket function", CHANNEL_KINDS);
      if (this.#isOver) dismiss(next);
      else this.#open(next);
    } catch (error) {
      // A value that is not a socket will not become one later.
      if (error instanceof TypeError) this.#conversation.fail(error);
      else this.#retry(error as Error);
    }
  }

  /** Closes the connection permanently. */
  close(code: number = CLOSE.normal, reason = ""): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#deadline);
    this.#link?.close(code, reason);
    this.#link = undefined;
  }

  #open(channel: ByteChannel): void {
    const link = new SocketLink(channel, FROM_MEMORY);
    this.#link = link;
    link.onMessage = (message: ToActor) => this.#receive(link, message);
    link.onEnd = (code, reason) => this.#onEnd(code, reason);
    link.onFault = (error) => this.#onFault(link, error);
    link.open();
    // With a single socket, the Replay's end may answer at any time within the caller's wait.
    if (this.#options.connect !== undefined) link.watch(WELCOME_MS, 1);
    link.post(this.#conversation.hello);
  }

  #receive(link: SocketLink, message: ToActor): void {
    const kind = kindOfMessage(message);
    if (kind === "invite") {
      const { versions } = message as InviteMessage;
      if (Array.isArray(versions) && versions.includes(VERSION)) {
        // Steps sent before the next welcome would be lost, and later steps would be out of order.
        if (this.#isWelcome) {
          this.#countFromNow();
          if (this.#options.connect !== undefined) this.#watchDeadline();
          this.#conversation.lose();
        }
        link.post(this.#conversation.hello);
      } else
        this.#fail(
          new ReplayError("UNSUPPORTED", `acceptWriter does not support version ${VERSION} of the protocol. Use the same version of Reprise at both ends`),
          CLOSE.refused,
        );
    } else if (kind === "welcome") this.#start(link, message);
    else this.#conversation.receive(message);
  }

  #start(link: SocketLink, message: unknown): void {
    const { leaves, lanes } = this.#options;
    try {
      const welcome = this.#conversation.check(message);
      const { shared = [], keepAliveMs, keepAliveTimeoutMs, frameBytes = 0, inFlightBytes = 0 } = welcome;
      checkShared(shared, leaves);
      link.codec = new StepEncoder(leaves, lanes, shared);
      // Messages from the Replay's program may have any size.
      link.maxBytes = Number.POSITIVE_INFINITY;
      link.watch(keepAliveMs ?? WELCOME_MS, keepAliveTimeoutMs ?? WELCOME_MS);
      if (frameBytes * inFlightBytes === 0) throw new ReplayError("CORRUPT", "the answer from acceptWriter lacks the limits that sockets require");
      this.#pauseMs = FIRST_PAUSE_MS;
      this.#isWelcome = true;
      clearTimeout(this.#deadline);
      this.#deadline = undefined;
      this.#conversation.start(link, welcome);
    } catch (error) {
      this.#fail(error as Error, CLOSE.refused);
    }
  }

  #onEnd(code: number | undefined, reason: string | undefined): void {
    const error =
      code === CLOSE.replaced ? new ReplayError("OUT_OF_TURN", "another connection has taken over this writer's session") : socketClosed(code, reason);
    if (isFinal(code)) this.#fail(error);
    else this.#retry(error);
  }

  #onFault(link: SocketLink, error: ReplayError): void {
    const code = closeCodeOf(error);
    link.close(code, error.message);
    if (isFinal(code)) this.#fail(error, code);
    else this.#retry(error);
  }

  #fail(error: Error, code?: number): void {
    const link = this.#link;
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#deadline);
    link?.close(code, error.message);
    this.#conversation.fail(error);
  }

  #retry(reason: Error): void {
    if (this.#isOver) return;
    const { connect, reconnectTimeoutMs } = this.#options;
    if (this.#isWelcome) this.#countFromNow();
    this.#link = undefined;
    this.#reason = reason;
    const elapsed = performance.now() - this.#lostAt;
    if (connect === undefined || elapsed >= reconnectTimeoutMs) {
      if (connect === undefined) this.#fail(reason);
      else this.#giveUp(reconnectTimeoutMs);
      return;
    }
    if (this.#deadline === undefined) this.#watchDeadline();
    this.#conversation.lose();
    // Half of the pause is random, so that not all writers of a server reconnect together.
    const pause = this.#pauseMs * (0.5 + ((crypto.getRandomValues(new Uint8Array(1))[0] as number) / 256) * 0.5);
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#timer = setTimeout(() => this.dial(), Math.min(pause, Math.max(1, reconnectTimeoutMs - elapsed)));
  }

  /** Records that a welcomed writer has lost its connection, so that the timeout counts from now on. */
  #countFromNow(): void {
    this.#isWelcome = false;
    this.#lostAt = performance.now();
  }

  /** Fails after the timeout, because a function that connects may never settle, and a socket may stay silent. */
  #watchDeadline(): void {
    const { reconnectTimeoutMs } = this.#options;
    const limit = reconnectTimeoutMs === 0 ? WELCOME_MS : reconnectTimeoutMs;
    const left = limit - (performance.now() - this.#lostAt);
    this.#deadline = setTimeout(
      () => {
        if (performance.now() - this.#lostAt < limit) this.#watchDeadline();
        else this.#giveUp(limit);
      },
      Math.min(Math.max(1, left), MAX_TIMEOUT_MS),
    );
  }

  #giveUp(ms: number): void {
    const reason = this.#link === undefined ? (this.#reason?.message ?? "the socket function has not settled") : "the other end sent nothing";
    this.#fail(new ReplayError("CLOSED", `there was no connection to the Replay for ${ms} ms: ${reason}`), CLOSE.silent);
  }
}

/** Closes a socket that was made too late. The empty handlers receive the errors of a socket that is not open yet. */
function dismiss(channel: ByteChannel): void {
  channel.receive({ message() {}, close() {} });
  channel.close(CLOSE.normal, "");
}

/** @throws ReplayError CORRUPT if frames do not divide the values of their leaves evenly, or if a leaf is listed twice */
function checkShared(shared: readonly { readonly leaves: readonly number[]; readonly frameBytes: number }[], leaves: readonly PlacedLeaf[]): void {
  const all = shared.flatMap((entry) => entry.leaves);
  const fits = shared.every((entry) => entry.leaves.every((leaf) => (leaves[leaf] as PlacedLeaf).arrayBytes % entry.frameBytes === 0));
  if (!fits || new Set(all).size !== all.length) throw new ReplayError("CORRUPT", "the shared leaves in the answer from acceptWriter do not match the spec");
}
