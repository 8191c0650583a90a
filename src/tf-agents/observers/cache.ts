/** Implements the base of the observers. It manages a writer that can be reopened, counts its steps, and queues calls until a table has room. */
import { described, mustBe, ReplayError } from "../../base/error.ts";
import { abortable, type WaitOptions } from "../../base/wait.ts";
import { stateOf } from "../../replay/replay.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import { ItemPromise } from "../../tables/item-promise.ts";
import { allOf, type StepWriter } from "../../tables/step-sink.ts";
import { isEndOfWait, UntoldErrors } from "../../tables/untold-errors.ts";
import { Writer } from "../../tables/writer.ts";
import { isPromise, type Task, toAwaitable } from "../awaitable.ts";
import type { Signature } from "../signature.ts";
import type { Trajectory } from "../trajectory.ts";
import type { ClientLike } from "../writers/client.ts";
import { type ClientOf, LocalClient } from "../writers/local-client.ts";
import { type Awaitable, type StepClient, type StepWriterOptions, tableNames } from "../writers/step-client.ts";
import { Callable } from "./callable.ts";
import { StepSchema } from "./step-schema.ts";

/**
 * A call of an observer with one step of its environment. The step is nested, flattened, or has columns. Returns undefined, or a promise if the call waits for
 * room in a table.
 */
export type ObserverCall<S extends Spec> = (step: StepOf<S> | Trajectory | readonly unknown[]) => Promise<void> | undefined;

/** A task that may have to wait. */
export type Work = Task<void>;

export class Cache<S extends Spec> {
  readonly tables: readonly string[];
  readonly client: StepClient<S>;
  readonly schema: StepSchema<S>;
  /** The number of steps since the last reset, boundary or close. */
  steps = 0;
  readonly #options: (tables: readonly string[]) => StepWriterOptions;
  #writer: StepWriter<S> | undefined;
  /** Whether writers of an earlier run can be resumed. If so, a new writer is created with the first step, so `resume` can be called before. */
  #mayResume = false;
  /** Aborts waiting calls when the observer is closed. */
  #closing = new AbortController();
  /** The last call that waits for room. Undefined if no call waits. */
  #queue: Promise<unknown> | undefined;
  /** The errors of calls whose promises were not read. */
  readonly #errors = new UntoldErrors();

  /** @throws TypeError if a table name is not a string · ReplayError NOT_FOUND if a table does not exist, SPEC_MISMATCH if the spec has no step type */
  constructor(client: StepClient<S>, tableName: unknown, options: (tables: readonly string[]) => StepWriterOptions) {
    this.tables = tableNames(client, tableName);
    this.schema = new StepSchema(client.spec);
    this.client = client;
    this.#options = options;
    this.#mayResume = client instanceof LocalClient && options(this.tables).name === undefined && stateOf(client.replay).hasOrphans;
    if (!this.#mayResume) this.open();
  }

  get isWaiting(): boolean {
    return this.#queue !== undefined;
  }

  /** The observer's writer. @throws ReplayError CLOSED after `close` · the errors of `replay.writer` if this access creates the writer */
  get writer(): StepWriter<S> {
    return this.#writer ?? this.#late();
  }

  /**
   * Resumes a restored writer and its open episode.
   * @throws ReplayError OUT_OF_TURN while calls wait for room · SPEC_MISMATCH for a writer that was created for another purpose
   */
  resume(writer: Writer): void {
    if (this.#queue !== undefined) throw new ReplayError("OUT_OF_TURN", "earlier calls to this observer are waiting for room. Await flush() before resume()");
    if (!(writer instanceof Writer)) throw mustBe(TypeError, "writer", ["a writer that Replay.open restored", "Pass a writer from replay.writers"], writer);
    const expected = this.#options(this.tables);
    const { keep, lanes, items } = writer.options;
    const rules = (expected.items ?? []) as readonly WholeRule[];
    const areSameRules = items.length === rules.length && items.every((rule, k) => isRule(rule, rules[k] as WholeRule));
    if (lanes !== 1 || !areSameRules || keep < expected.keep) {
      const text = (list: readonly WholeRule[]) =>
        list.map(({ table, length, stride, priority }) => `${table} ${length}/${stride}/${priority}`).join(", ") || "none";
      const rule = `a writer with the options of this observer: 1 lane, keep ${expected.keep}, rules (table length/stride/priority) ${text(rules)}`;
      throw mustBe("SPEC_MISMATCH", "writer", rule, described(`${lanes} lanes, keep ${keep}, rules ${text(items as readonly WholeRule[])}`));
    }
    if (writer === (this.#writer as unknown)) return;
    this.#writer?.close();
    this.#mayResume = false;
    this.#writer = writer as unknown as StepWriter<S>;
    this.steps = writer.episodeSteps;
  }

  open(): void {
    if (this.#writer !== undefined) return;
    const writer = this.client.writer(this.#options(this.tables));
    this.#mayResume = false;
    this.#writer = writer;
    // A named writer may have an open episode.
    if (writer instanceof Writer) this.steps = writer.episodeSteps;
  }

  #late(): StepWriter<S> {
    if (!this.#mayResume) throw closedError();
    this.open();
    return this.writer;
  }

  close(): void {
    this.steps = 0;
    this.#mayResume = false;
    this.#writer?.close();
    this.#writer = undefined;
    // The queued calls belong to the abandoned episode.
    this.#closing.abort(closedError());
    this.#closing = new AbortController();
    this.#queue = undefined;
  }

  /** Ends the episode. Later items use no steps from before this call. */
  forget(): void {
    this.steps = 0;
    this.#writer?.endEpisode();
  }

  /**
   * Waits until no call and no item of the observer waits. @throws the errors of the writer's `flush` · the error of a call whose promise was not read, once
   */
  flush(options: WaitOptions = {}): Promise<void> | undefined {
    const { writer } = this;
    const flushed = this.#queue === undefined ? writer.flush(options) : this.#flushQueue(writer, this.#queue, options);
    if (flushed === undefined && this.#errors.isEmpty) return undefined;
    const all = this.#flushAll(flushed);
    const answer = ItemPromise.of([all]);
    all.catch((reason) => {
      if (!isEndOfWait(reason, options)) this.#errors.add(reason, answer);
    });
    return answer;
  }

  async #flushAll(flushed: Promise<void> | undefined): Promise<void> {
    await flushed;
    this.#errors.throwFirst();
  }

  async #flushQueue(writer: StepWriter<S>, queue: Promise<unknown>, options: WaitOptions): Promise<void> {
    const ended = new AbortController();
    try {
      // If this wait has ended, the writer's errors remain for the next `flush`.
      const flushed = queue.then(() => writer.flush({ signal: ended.signal }));
      await abortable(flushed, "some items are still waiting for room", options);
    } finally {
      ended.abort();
    }
  }

  /**
   * Runs a task after all waiting tasks. The task itself may also wait for room. Returns undefined, or a promise if the task waits. If the promise is never
   * read, `flush` reports its error.
   */
  enqueue(task: () => Work): Promise<void> | undefined {
    const { signal } = this.#closing;
    const runTask = () => {
      signal.throwIfAborted();
      return toAwaitable(task());
    };
    const result: Awaitable<void> = this.#queue === undefined ? toAwaitable(task()) : this.#queue.then(runTask);
    if (!isPromise(result)) return undefined;
    const answer = ItemPromise.of([result]);
    const ending = result.catch((reason) => {
      // The failure of a task that `close` aborts is not reported.
      if (!signal.aborted || !isEndOfWait(reason, { signal })) this.#errors.add(reason, answer);
    });
    const queueTail: Promise<unknown> = ending.then(() => {
      if (this.#queue === queueTail) this.#queue = undefined;
    });
    this.#queue = queueTail;
    return answer;
  }

  /** Appends a step, and creates the items that are due with it. */
  append(step: StepOf<S>): Work {
    return this.#withRoom((writer) => writer.append(step));
  }

  /** Creates an item of the last `length` steps in every table. @returns a promise for the items that a server may still reject */
  *createItems(length: number, priority: number): Task<Promise<void> | undefined> {
    const answers: ItemPromise[] = [];
    for (const table of this.tables) {
      yield* this.#withRoom((writer) => {
        const item = writer.createItem(table, { length, priority });
        // Other promises wait for a rate limiter of this process and are not collected.
        if (item instanceof ItemPromise) answers.push(item);
      });
    }
    return allOf(answers);
  }

  /** Makes a call. If more items would then wait for a rate limiter than the table allows, waits until the waiting items are inserted, and tries again. */
  *#withRoom(call: (writer: StepWriter<S>) => unknown): Work {
    const { writer } = this;
    const { signal } = this.#closing;
    for (;;) {
      try {
        const pending = call(writer) as Awaitable<unknown>;
        if (isPromise(pending)) yield pending;
        return;
      } catch (error) {
        const pending = isLimited(error) ? writer.flush({ signal }) : undefined;
        if (pending === undefined) throw error;
        yield pending;
      }
    }
  }

  /** Returns the signature of the tables. @throws RangeError if they have no signature in common */
  signature(): Awaitable<Signature> {
    return toAwaitable(signatures(this.tables.map((table) => this.client.signature(table)))) as Awaitable<Signature>;

    function* signatures(promises: readonly Awaitable<Signature>[]): Task<Signature> {
      const all: Signature[] = [];
      for (const promise of promises) all.push(isPromise(promise) ? ((yield promise) as Signature) : promise);
      const different = new Set(all.map((signature) => JSON.stringify(signature))).size;
      if (different !== 1)
        throw new RangeError(`an observer needs one or more tables with the same signature, got ${all.length} tables with ${different} signatures`);
      return all[0] as Signature;
    }
  }
}

/** An item rule as observers create it, for items of whole steps. */
interface WholeRule {
  readonly table: string;
  readonly length: number;
  readonly stride: number;
  readonly priority: number;
}

function isRule(a: object, b: WholeRule): boolean {
  const { table, length, stride, priority } = a as WholeRule;
  return table === b.table && length === b.length && stride === b.stride && priority === b.priority;
}

function closedError(): ReplayError {
  return new ReplayError("CLOSED", "this observer was closed. Call open() or reset()");
}

export function isLimited(error: unknown): boolean {
  return error instanceof ReplayError && error.code === "RATE_LIMITED";
}

/** The base class of all observers. An observer is a function of a step, with a cache of the writer's state. */
export abstract class CachedObserver<S extends Spec, C extends ClientLike<S>> extends Callable<ObserverCall<S>> {
  readonly #cache: Cache<S>;

  constructor(cache: Cache<S>, call: ObserverCall<S>) {
    super(call);
    this.#cache = cache;
  }

  /** The client with which the observer writes. Other code can use the same client to write and read. For a Replay, it is always the same `LocalClient`. */
  get pyClient(): ClientOf<C> {
    return this.#cache.client as ClientOf<C>;
  }

  /**
   * The number of steps since the last reset or close, or since the step that ended the last episode. An episode observer counts at most `maxSequenceLength`
   * steps.
   */
  get cachedSteps(): number {
    return this.#cache.steps;
  }

  /**
   * Resumes a writer from `Replay.open` or `Replay.restore` (`replay.writers`), with its open episode. An observer with the same options must have created that
   * writer. Closes the current writer of this observer.
   * @throws ReplayError SPEC_MISMATCH if the writer has other options
   * @throws ReplayError OUT_OF_TURN if calls wait for room
   * @throws ReplayError CLOSED after `close`
   */
  resume(writer: Writer): void {
    this.#cache.resume(writer);
  }

  /** Opens the observer again after `close`. No effect if the observer is open. */
  open(): void {
    this.#cache.open();
  }

  /**
   * Closes the observer and drops the cached steps. Existing items remain. For a server, call `flush` first, because only `flush` reports items that the server
   * rejects.
   */
  close(): void {
    this.#cache.close();
  }

  /**
   * Waits until no item waits for a rate limiter or for the confirmation of a server. Returns undefined if no item waits.
   * @throws ReplayError CLOSED after `close`
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws the signal's reason if the signal aborts
   * @throws the error of an earlier call, once, if its promise was not read, such as NOT_FOUND or SPEC_MISMATCH for an item
   */
  flush(options?: WaitOptions): Promise<void> | undefined {
    return this.#cache.flush(options);
  }

  /** Returns the signature that the tables have in common. @throws RangeError if they have no common signature */
  getTableSignature(): Awaitable<Signature> {
    return this.#cache.signature();
  }
}
