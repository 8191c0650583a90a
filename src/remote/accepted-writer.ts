/** The memory's end of a remote writer: takes its blocks in order, confirms them, and sends messages back. Over sockets it outlives a connection. */
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

/** How an accepted writer ended: by the actor's `close`, because the actor is gone, by `close` here, or by an error, which the actor is told. */
export interface Goodbye {
  readonly how: "left" | "gone" | "closed" | "failed";
  readonly error?: unknown;
}

/** What holds for a connection: the call that accepted it says so. */
export interface Terms {
  readonly maxInFlight: number;
  readonly confirm: "memory" | "disk";
  /** Of a socket; a port has none. */
  readonly limits?: ResolvedLimits | undefined;
  /** How long it waits for an actor whose connection broke; 0 where that never comes again. */
  readonly ttlMs: number;
}

/** What an accepted writer has to know besides its writer. */
export interface AcceptedOptions {
  /** The secret of the actor's end. */
  readonly session: string;
  readonly terms: Terms;
  /** Where a session of an earlier run stands. */
  readonly from?: { readonly number: number; readonly progress: Progress; readonly steps: number } | undefined;
  /** Told of each step within a block, before it is made. */
  readonly onProgress?: (() => void) | undefined;
  /** Asks for the disk; resolves when what was done before is there. */
  readonly sync: () => Promise<void>;
  /** Called before its writer is closed, at the end: whether the actor has said goodbye. */
  readonly onEnding: (isLeft: boolean) => void;
  /** Called at the end, with what the actor is told. */
  readonly onEnd: (farewell: ClosedMessage, code: number) => void;
}

/** Bytes of answers that may wait in a socket whose other end does not read. */
const MAX_ANSWERS = 1 << 20;

export class AcceptedWriter {
  /** Resolves when the actor has gone and all that came from it is in the memory, and with what ended it. It never rejects. */
  readonly closed: Promise<Goodbye>;
  readonly #host: Host;
  readonly #writer: HostWriter;
  readonly #options: AcceptedOptions;
  readonly #appender: Appender;
  readonly #sender = new MessageSender();
  readonly #credits: Credits;
  #terms: Terms;
  #link: Link | undefined;
  /** Gives the port back. */
  #leave: () => void = () => {};
  /** What came and is not in the memory yet. */
  readonly #queue = new Fifo<ToMemory>();
  readonly #calls: Calls;
  #received: number;
  #confirmed: number;
  /** Ends what waits. */
  readonly #aborter = new AbortController();
  #isWorking = false;
  #isGone = false;
  #ttlTimer: ReturnType<typeof setTimeout> | undefined;
  #throttleTimer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the actor was given what was published before it came. */
  #isGreeted = false;
  #resolveClosed!: (how: Goodbye) => void;

  static {
    customInspect<AcceptedWriter>(this, "AcceptedWriter", (writer) => writer.#inspect());
  }

  /** `replay.acceptWriter` makes them. */
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

  /** Steps that are in the memory. */
  get steps(): number {
    return this.#appender.steps;
  }

  /** Whether the actor has a connection now. Without one, the actor may come again, until `closed` says otherwise. */
  get connected(): boolean {
    return this.#link !== undefined;
  }

  /** The name that its writer has. */
  get name(): string | undefined {
    return this.#writer.options.name;
  }

  /** For the package's own modules: what holds from now on, also for what came before and waits. */
  set terms(terms: Terms) {
    this.#terms = terms;
    this.#credits.limit(terms.maxInFlight, terms.limits);
  }

  /** For the package's own modules: what a session is known by. */
  get position(): { readonly received: number; readonly confirmed: number; readonly number: number; readonly progress: Progress } {
    const { number, progress } = this.#appender;
    return { received: this.#received, confirmed: this.#confirmed, number, progress };
  }

  /**
   * Sends a message to the actor's `onmessage`, after all that were sent before: bytes as they are, anything else as JSON. It is copied. A message that was sent arrives once,
   * also where the connection breaks and the actor comes again.
   * @returns `undefined`, or a promise to await where 1 MiB is on its way
   * @throws TypeError for what JSON cannot say · ReplayError RATE_LIMITED where such a promise was not awaited · CLOSED
   */
  send(message: Message): Promise<void> | undefined {
    return this.#sender.send(encodeMessage(message));
  }

  /**
   * Sends a message to the actor's `onmessage` in the place of one that was published before and still waits: an actor that is slow receives only the newest weights. As
   * `replay.publish` does for all actors.
   * @throws TypeError for what JSON cannot say
   */
  publish(message: Message): void {
    this.#sender.publish(encodeMessage(message));
  }

  /** For the package's own modules: goes on over a link whose other end has handled the messages up to `receipt`. */
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
   * Closes it at once: what came and still waits for a rate limiter is given up, the open episode is truncated, and the actor's next call throws CLOSED. For a
   * Worker that has died where the runtime does not tell: browsers.
   */
  close(): void {
    this.#end({ how: "closed" }, withCloseCode(new ReplayError("CLOSED", "the writer was closed where the memory is"), CLOSE.normal));
  }

  /** For the package's own modules: the actor does not come again. */
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
      // Its own one crosses with an invitation. A channel has one session: whose else should its steps be?
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
        // Not the message, which may have fields that nobody counts.
        this.#queue.push(kind === "bye" ? { kind } : { kind, id });
      } else throw foreignMessage();
      this.#run();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Checks the number of a block, and whether it may come now. Whether it is new. */
  #receiveSteps(message: BlockMessage | ColumnsMessage, bytes: number): boolean {
    checkSteps(message);
    const { number } = message;
    if (number <= this.#received) {
      // The confirmation was lost with the link.
      if (number <= this.#confirmed) this.#link?.post({ kind: "confirmation", number: this.#confirmed } satisfies ConfirmationMessage);
      return false;
    }
    if (number !== this.#received + 1) throw foreignMessage();
    this.#credits.add(message, bytes);
    this.#received = number;
    return true;
  }

  /** Processes received messages until it has to wait. */
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
      // A process of Node must not stay for this.
      (this.#throttleTimer as { unref?(): void }).unref?.();
    });
  }

  /** A block is in the memory. */
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

  /** Resolves when what was taken so far is where its confirmation says; undefined if it is. */
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

  /** @throws ReplayError CORRUPT for an actor that sends on, and reads no answers */
  #checkAnswers(): void {
    if ((this.#link?.buffered ?? 0) > MAX_ANSWERS + 2 * this.#sender.sentBytes) throw tooMuch("answers are not read");
  }

  /** The actor has said goodbye. */
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

  /** The link broke. */
  #lose(): void {
    this.#link = undefined;
    this.#sender.detach();
    const { ttlMs } = this.#terms;
    if (ttlMs > 0) {
      this.#ttlTimer = setTimeout(() => this.#end({ how: "gone" }), ttlMs);
      // A process of Node must not stay for this.
      (this.#ttlTimer as { unref?(): void }).unref?.();
      return;
    }
    // What came before is taken.
    this.#isGone = true;
    if (!this.#isWorking) this.#end({ how: "gone" });
  }

  #fail(error: unknown): void {
    this.#end({ how: "failed", error }, error);
  }

  #closeWriter(): void {
    if (this.#host.engine.closed) return;
    this.#writer.close();
    // A call of its own: it is told of what could not be written before.
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
      // The writer is closed, but a journal could not write that down.
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
