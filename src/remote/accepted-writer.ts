/**
 * Implements the Replay's end of a remote writer: appends its blocks in order, confirms them, and sends messages back. With sockets, the writer outlives a
 * connection.
 */
import { ReplayError } from "../base/error.ts";
import { Fifo } from "../base/fifo.ts";
import { customInspect } from "../base/inspect.ts";
import { MAX_TIMEOUT_MS } from "../base/limits.ts";
import { type EncodedMessage, encodeMessage, type Message } from "../base/publication.ts";
import { Appender, checkSteps, foreignMessage, type Progress, type Task } from "./appender.ts";
import { Calls, GOODBYE } from "./calls.ts";
import { CLOSE, closeCodeOf, withCloseCode } from "./channels/close-codes.ts";
import type { Link } from "./channels/link.ts";
import { encodeError } from "./channels/port.ts";
import { Credits, tooMuch } from "./credits.ts";
import { foreignHello, portClosed } from "./handshake.ts";
import type { Host, HostWriter } from "./host.ts";
import type { ResolvedLimits } from "./limits.ts";
import { MessageSender } from "./sender.ts";
import { isCount, kindOfMessage } from "./validators.ts";
import type {
  BlockMessage,
  ClosedMessage,
  ColumnsMessage,
  ConfirmationMessage,
  FlushedMessage,
  FlushMessage,
  HelloMessage,
  ReceiptMessage,
  ToMemory,
} from "./wire/messages.ts";

/**
 * The reason why an accepted writer ended. Either the actor called `close`, the actor is gone, this side called `close`, or an error occurred, which is also
 * sent to the actor.
 */
export interface Goodbye {
  readonly how: "left" | "gone" | "closed" | "failed";
  readonly error?: unknown;
}

/** The terms of a connection, from the options of the `acceptWriter` call that accepted it. */
export interface Terms {
  readonly maxInFlight: number;
  readonly confirm: "memory" | "disk";
  /** The limits of a socket; undefined for a port. */
  readonly limits?: ResolvedLimits | undefined;
  /** The number of milliseconds to wait for an actor whose connection broke; 0 if the actor cannot reconnect. */
  readonly ttlMs: number;
}

/** The options of an accepted writer, in addition to the host's writer. */
export interface AcceptedOptions {
  /** The secret with which the actor identifies its session. */
  readonly session: string;
  readonly terms: Terms;
  /** The position of a session that an earlier run began. */
  readonly from?: { readonly number: number; readonly progress: Progress; readonly steps: number } | undefined;
  /** Runs whenever the progress within a block changes. */
  readonly onProgress?: (() => void) | undefined;
  /** Requests a write to disk; resolves when everything done before the call is on the disk. */
  readonly sync: () => Promise<void>;
  /** Runs at the end, before the host's writer is closed. @param isLeft whether the actor has sent its goodbye */
  readonly onEnding: (isLeft: boolean) => void;
  /** Runs at the end, with the actor's farewell. */
  readonly onEnd: (farewell: ClosedMessage, code: number) => void;
}

/** The maximum number of bytes of answers that wait in a socket whose other end does not read. */
const MAX_ANSWERS = 1 << 20;

export class AcceptedWriter {
  /**
   * A promise of the reason why the writer ended. It resolves after the writer was closed, and never rejects. If the actor called `close`, all of its steps are
   * in memory by then.
   */
  readonly closed: Promise<Goodbye>;
  readonly #host: Host;
  readonly #writer: HostWriter;
  readonly #options: AcceptedOptions;
  readonly #appender: Appender;
  readonly #sender = new MessageSender();
  readonly #credits: Credits;
  #terms: Terms;
  #link: Link | undefined;
  /** Releases the port. */
  #leave: () => void = () => {};
  /** Received messages that are not processed yet. */
  readonly #queue = new Fifo<ToMemory>();
  readonly #calls: Calls;
  #received: number;
  #confirmed: number;
  /** Ends pending waits. */
  readonly #aborter = new AbortController();
  #isWorking = false;
  #isGone = false;
  #ttlTimer: ReturnType<typeof setTimeout> | undefined;
  #throttleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the actor has connected before. At its first connection, it receives the newest message that was published earlier. */
  #isGreeted = false;
  #resolveClosed!: (how: Goodbye) => void;

  static {
    customInspect<AcceptedWriter>(this, "AcceptedWriter", (writer) => writer.#inspect());
  }

  /** Created by `replay.acceptWriter`. */
  constructor(host: Host, writer: HostWriter, options: AcceptedOptions) {
    this.#host = host;
    this.#writer = writer;
    this.#options = options;
    const { from = { number: 0, progress: undefined, steps: 0 }, onProgress, terms } = options;
    this.#appender = new Appender(host, writer, this.#aborter.signal, { ...from, onProgress });
    this.#received = from.number;
    this.#confirmed = from.number;
    this.#credits = new Credits(host.engine.layout.leaves, writer.options.lanes);
    this.#terms = terms;
    this.terms = terms;
    const { signal } = this.#aborter;
    this.#calls = new Calls({
      signal,
      settle: async () => {
        await writer.flush({ signal });
        if (this.#terms.confirm === "disk") await options.sync();
      },
      answer: (id) => {
        this.#checkAnswers();
        this.#link?.post({ kind: "flushed", id } satisfies FlushedMessage);
      },
      fail: (error) => this.#fail(error),
    });
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    host.engine.closers.add(this);
    host.publication.listeners.add(this.#listener);
  }

  readonly #listener = { publish: (message: EncodedMessage) => this.#sender.publish(message) };

  /** The number of steps from the actor that are in memory. */
  get steps(): number {
    return this.#appender.steps;
  }

  /** Whether the actor has a connection now. Without a connection, the actor may reconnect until `closed` resolves. */
  get connected(): boolean {
    return this.#link !== undefined;
  }

  /** The name of the writer. */
  get name(): string | undefined {
    return this.#writer.options.name;
  }

  /** Sets the terms for all messages that are not handled yet. For the package's own modules. */
  set terms(terms: Terms) {
    this.#terms = terms;
    this.#credits.limit(terms.maxInFlight, terms.limits);
  }

  /** The position of the writer's session. For the package's own modules. */
  get position(): { readonly received: number; readonly confirmed: number; readonly number: number; readonly progress: Progress } {
    const { number, progress } = this.#appender;
    return { received: this.#received, confirmed: this.#confirmed, number, progress };
  }

  /**
   * Sends a copy of a message to the actor's `onmessage`, after all earlier messages. Bytes are sent unchanged, and other values as JSON. The message arrives
   * once, even if the connection breaks and the actor reconnects.
   * @returns `undefined`, or a promise to await if 1 MiB is unconfirmed
   * @throws TypeError if JSON cannot represent the message
   * @throws ReplayError RATE_LIMITED if such a promise was not awaited
   * @throws ReplayError CLOSED after the writer was closed
   */
  send(message: Message): Promise<void> | undefined {
    return this.#sender.send(encodeMessage(message));
  }

  /**
   * Sends a message to the actor's `onmessage`, and replaces a published message that is still waiting, so that a slow actor receives only the newest weights.
   * `replay.publish` does the same for all actors.
   * @throws TypeError if JSON cannot represent the message
   */
  publish(message: Message): void {
    this.#sender.publish(encodeMessage(message));
  }

  /** Continues over a link whose other end has handled the messages up to `receipt`. For the package's own modules. */
  attach(link: Link, receipt: number, leave: () => void): void {
    clearTimeout(this.#ttlTimer);
    this.#link?.close(CLOSE.replaced, "another connection has this session now");
    this.#link = link;
    this.#isGone = false;
    this.#leave = leave;
    link.onMessage = (message: ToMemory, bytes) => this.#receive(message, bytes);
    link.onEnd = () => this.#lose();
    link.onFault = (error) => {
      if (closeCodeOf(error) !== CLOSE.silent) return this.#fail(error);
      link.close(CLOSE.silent, error.message);
      this.#lose();
    };
    this.#sender.attach(link, receipt);
    if (link.isOver) this.#lose();
    const { newest } = this.#host.publication;
    if (!this.#isGreeted && newest !== undefined) this.#sender.publish(newest);
    this.#isGreeted = true;
  }

  /**
   * Closes the writer immediately. Drops steps that still wait for a rate limiter, and truncates the open episode. The actor's next call throws CLOSED. Use it
   * for a dead Worker if the runtime does not report its end, as in browsers.
   */
  close(): void {
    this.#end({ how: "closed" }, withCloseCode(new ReplayError("CLOSED", "the process with the Replay has closed the writer"), CLOSE.normal));
  }

  /** Closes the writer of an actor that can no longer reconnect. For the package's own modules. */
  abandon(): void {
    this.#end({ how: "gone" });
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #inspect(): object {
    const { lanes, items } = this.#writer.options;
    return { lanes, items, steps: this.steps, connected: this.connected, ...(this.#aborter.signal.aborted && { closed: true }) };
  }

  #receive(message: ToMemory, bytes: number): void {
    try {
      const kind = kindOfMessage(message);
      if (typeof kind !== "string") throw foreignMessage();
      // The actor's own hello may cross with an invitation. A channel has only one session, so no other session can send steps.
      if (kind === "hello" && (message as HelloMessage).session === this.#options.session) return;
      if (kind === "hello") throw foreignHello();
      this.#checkAnswers();
      if (kind === "receipt") {
        const { number } = message as ReceiptMessage;
        if (!isCount(number)) throw foreignMessage();
        this.#sender.receive(number);
        return;
      }
      if (kind === "block" || kind === "columns") {
        if (!this.#receiveSteps(message as BlockMessage, bytes)) return;
        this.#queue.push(message);
      } else if (kind === "flush" || kind === "bye") {
        const id = kind === "bye" ? GOODBYE : (message as FlushMessage).id;
        if (!this.#calls.add(id)) return;
        // The message itself is not queued, because no limit counts its additional fields.
        this.#queue.push(kind === "bye" ? { kind } : { kind, id });
      } else throw foreignMessage();
      this.#run();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Checks the number of a block, and whether the block may arrive now. Returns whether the block is new. */
  #receiveSteps(message: BlockMessage | ColumnsMessage, bytes: number): boolean {
    checkSteps(message);
    const { number } = message;
    if (number <= this.#received) {
      // The earlier confirmation was lost with the link.
      if (number <= this.#confirmed) this.#link?.post({ kind: "confirmation", number: this.#confirmed } satisfies ConfirmationMessage);
      return false;
    }
    if (number !== this.#received + 1) throw foreignMessage();
    this.#credits.add(message, bytes);
    this.#received = number;
    return true;
  }

  /** Processes received messages until the writer has to wait. */
  #run(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#advance(this.#processQueue());
  }

  #advance(task: Task): void {
    if (this.#aborter.signal.aborted) return;
    try {
      const { done, value } = task.next();
      if (!done) {
        value.then(
          () => this.#advance(task),
          (error) => this.#fail(error),
        );
        return;
      }
      this.#isWorking = false;
      if (this.#isGone) this.#end({ how: "gone" });
    } catch (error) {
      this.#fail(error);
    }
  }

  *#processQueue(): Task {
    for (let message = this.#queue.shift(); message !== undefined; message = this.#queue.shift()) {
      const kind = kindOfMessage(message);
      if (kind === "bye") yield* this.#leaveNow();
      else if (kind === "flush") this.#calls.flush((message as FlushMessage).id);
      else if (kind === "block" || kind === "columns") {
        const wait = this.#credits.pauseMs((message as BlockMessage).number);
        if (wait > 0) yield this.#pause(wait);
        yield* this.#appender.take(message as BlockMessage);
        this.#onTaken();
      }
    }
  }

  #pause(ms: number): Promise<unknown> {
    return new Promise((resolve) => {
      this.#throttleTimer = setTimeout(resolve, Math.min(ms, MAX_TIMEOUT_MS));
      // The timer must not keep a Node process alive.
      (this.#throttleTimer as { unref?(): void }).unref?.();
    });
  }

  /** Handles a block that is completely in memory. */
  #onTaken(): void {
    const { number } = this.#appender;
    const confirmation = this.#confirmation();
    if (confirmation === undefined) this.#confirm(number);
    else
      confirmation.then(
        () => this.#confirm(number),
        (error) => this.#fail(error),
      );
  }

  /** Resolves when everything appended so far is confirmed as the option `confirm` requires. Returns undefined if that is already true. */
  #confirmation(): Promise<void> | undefined {
    if (this.#writer.confirmSoFar !== undefined) return this.#writer.confirmSoFar();
    return this.#terms.confirm === "disk" ? this.#options.sync() : undefined;
  }

  #confirm(number: number): void {
    if (number <= this.#confirmed) return;
    this.#confirmed = number;
    const link = this.#link;
    for (let block = this.#credits.shift(number); block !== undefined; block = this.#credits.shift(number)) {
      if (link?.transfers) link.post({ kind: "confirmation", number: block.number, buffer: block.buffer } satisfies ConfirmationMessage, [block.buffer]);
    }
    if (link?.transfers === false) link.post({ kind: "confirmation", number } satisfies ConfirmationMessage);
  }

  /** @throws ReplayError CORRUPT if an actor keeps sending without reading answers */
  #checkAnswers(): void {
    if ((this.#link?.buffered ?? 0) > MAX_ANSWERS + 2 * this.#sender.sentBytes) throw tooMuch("the actor sends data without reading the answers");
  }

  /** Handles the actor's goodbye. */
  *#leaveNow(): Task {
    if (this.#writer.confirmSoFar !== undefined) {
      yield this.#writer.flush({ signal: this.#aborter.signal }) as Promise<void>;
      this.#confirm(this.#appender.number);
    }
    if (this.#terms.confirm === "memory") return this.#end({ how: "left" });
    this.#options.onEnding(true);
    this.#closeWriter();
    yield this.#options.sync();
    this.#confirm(this.#appender.number);
    this.#end({ how: "left" });
  }

  /** Handles a broken link. */
  #lose(): void {
    this.#link = undefined;
    this.#sender.detach();
    const { ttlMs } = this.#terms;
    if (ttlMs > 0) {
      this.#ttlTimer = setTimeout(() => this.#end({ how: "gone" }), ttlMs);
      // The timer must not keep a Node process alive.
      (this.#ttlTimer as { unref?(): void }).unref?.();
      return;
    }
    // Messages that were already received are still processed.
    this.#isGone = true;
    if (!this.#isWorking) this.#end({ how: "gone" });
  }

  #fail(error: unknown): void {
    this.#end({ how: "failed", error }, error);
  }

  #closeWriter(): void {
    if (this.#host.engine.closed) return;
    this.#writer.close();
    // Closing counts as a separate call to the engine, so `begin` throws an earlier write error of the journal.
    this.#host.engine.begin();
  }

  #end(goodbye: Goodbye, error?: unknown): void {
    if (this.#aborter.signal.aborted) return;
    this.#aborter.abort(error ?? portClosed());
    clearTimeout(this.#ttlTimer);
    clearTimeout(this.#throttleTimer);
    this.#queue.clear();
    this.#host.engine.closers.delete(this);
    this.#host.publication.listeners.delete(this.#listener);
    let [outcome, reason] = [goodbye, error];
    try {
      this.#options.onEnding(goodbye.how === "left");
      this.#closeWriter();
    } catch (journalError) {
      // The writer is closed, but a journal could not record that.
      if (reason === undefined) [outcome, reason] = [{ how: "failed", error: journalError }, journalError];
    }
    const farewell: ClosedMessage = { kind: "closed", error: reason === undefined ? undefined : encodeError(reason) };
    const code = reason === undefined ? CLOSE.normal : closeCodeOf(reason);
    const link = this.#link;
    this.#link = undefined;
    this.#sender.close(new ReplayError("CLOSED", "the actor's writer is closed"));
    this.#options.onEnd(farewell, code);
    link?.post(farewell);
    link?.close(code, farewell.error?.message ?? "");
    this.#leave();
    this.#resolveClosed(outcome);
  }
}
