/** Elements one after the other, for loops that wait and loops that do not. */
import { codeOf } from "../error.ts";
import { checkSignal, type WaitOptions } from "../wait.ts";

/**
 * `for (const batch of dataset)` continues while the table can give whole batches at once, and then ends; what is no whole batch stays in the table.
 * `for await (const batch of dataset)` waits for the rate limiter, until the signal, the timeout or `break` ends it. An iterator that has come to its end can be asked again.
 */
export interface Dataset<B> extends Iterable<B>, AsyncIterable<B> {}

/** Where elements come from: `undefined` is the end, for now. */
export interface ElementSource<E> {
  next(): E | undefined;
  /** The same for async iterations, where they may wait. Never called before the last call has ended. */
  later?(options: WaitOptions): Promise<E | undefined>;
  /** The loop has gone on, or ended: it is done with this element. */
  done?(element: E): void;
  /** An async loop was left: nothing more is asked for. */
  close?(): void;
}

interface Ahead {
  readonly prefetch?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Elements one after the other. An async iteration ends, without an error, where one does not come in time. @param begin each iteration has a source of its own */
export function elementsOf<E>(begin: () => ElementSource<E>, { prefetch = 0, signal }: Ahead): Dataset<E> {
  checkSignal(signal);
  return {
    [Symbol.iterator]: () => new AtOnce(begin(), signal),
    [Symbol.asyncIterator]: () => new Later(begin(), prefetch, signal),
  };
}

function resultOf<E>(value: E | undefined): IteratorResult<E, undefined> {
  return value === undefined ? { done: true, value: undefined } : { done: false, value };
}

class AtOnce<E> implements IterableIterator<E, undefined> {
  readonly #source: ElementSource<E>;
  readonly #signal: AbortSignal | undefined;
  /** The element that the loop has. */
  #given: E | undefined;
  #left = false;

  constructor(source: ElementSource<E>, signal: AbortSignal | undefined) {
    this.#source = source;
    this.#signal = signal;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<E, undefined> {
    this.#goOn();
    if (this.#left) return resultOf<E>(undefined);
    this.#signal?.throwIfAborted();
    this.#given = this.#source.next();
    return resultOf(this.#given);
  }

  return(): IteratorResult<E, undefined> {
    this.#left = true;
    this.#goOn();
    return resultOf<E>(undefined);
  }

  #goOn(): void {
    const given = this.#given;
    this.#given = undefined;
    if (given !== undefined) this.#source.done?.(given);
  }
}

class Later<E> implements AsyncIterableIterator<E, undefined> {
  readonly #source: ElementSource<E>;
  readonly #prefetch: number;
  readonly #signal: AbortSignal | undefined;
  /** What is asked for ahead, in order. */
  readonly #ahead: Promise<E | undefined>[] = [];
  /** The last element that was asked of the source, and the last call of `next`: one is done with before the next one begins. */
  #asked: Promise<unknown> = Promise.resolve();
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether the last element did not come: what was asked for behind it does not come either. */
  #ended = false;
  #left = false;
  /** The element that the loop has. */
  #given: E | undefined;
  #stop = new AbortController();

  constructor(source: ElementSource<E>, prefetch: number, signal: AbortSignal | undefined) {
    this.#source = source;
    this.#prefetch = prefetch;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<E, undefined>> {
    const turn = this.#turn.then(() => this.#next());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** A batch that still waits would draw items that nobody sees. */
  return(): Promise<IteratorResult<E, undefined>> {
    this.#left = true;
    this.#stop.abort();
    this.#goOn();
    this.#source.close?.();
    return Promise.resolve(resultOf<E>(undefined));
  }

  async #next(): Promise<IteratorResult<E, undefined>> {
    this.#goOn();
    if (this.#left) return resultOf<E>(undefined);
    this.#signal?.throwIfAborted();
    while (this.#ahead.length <= this.#prefetch) this.#ahead.push(this.#ask());
    try {
      const element = await this.#ahead.shift();
      this.#given = element;
      if (element !== undefined) return resultOf(element);
    } catch (error) {
      await this.#end();
      throw error;
    }
    await this.#end();
    return resultOf<E>(undefined);
  }

  #goOn(): void {
    const given = this.#given;
    this.#given = undefined;
    if (given !== undefined) this.#source.done?.(given);
  }

  /** Another call begins anew. */
  async #end(): Promise<void> {
    await Promise.allSettled(this.#ahead.splice(0));
    this.#ended = false;
  }

  #ask(): Promise<E | undefined> {
    const begin = async () => (this.#ended || this.#left ? undefined : this.#one());
    const element = this.#source.later === undefined ? begin() : this.#asked.then(begin);
    // It may fail long before it is awaited, or never be awaited.
    this.#asked = element.catch(() => {});
    return element;
  }

  async #one(): Promise<E | undefined> {
    const signal = this.#signal;
    const stop = new AbortController();
    const forward = () => stop.abort(signal?.reason);
    this.#stop = stop;
    signal?.addEventListener("abort", forward);
    try {
      signal?.throwIfAborted();
      const element = this.#source.later === undefined ? this.#source.next() : await this.#source.later({ signal: stop.signal });
      this.#ended = element === undefined;
      return element;
    } catch (error) {
      this.#ended = true;
      if (codeOf(error) === "TIMEOUT") return undefined;
      throw error;
    } finally {
      signal?.removeEventListener("abort", forward);
    }
  }
}
