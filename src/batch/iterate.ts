/** Implements iteration over elements, for loops that wait and loops that do not. */
import { codeOf } from "../base/error.ts";
import { checkSignal, type WaitOptions } from "../base/wait.ts";

/**
 * A dataset of batches for loops. `for (const batch of dataset)` yields full batches while the table can provide them immediately, then ends. Items that do not
 * fill a batch stay in the table. `for await (const batch of dataset)` waits for the rate limiter until a signal, a timeout or `break` ends it. You can call
 * `next()` again on an iterator that has ended.
 */
export interface Dataset<B> extends Iterable<B>, AsyncIterable<B> {}

/** A source of elements. It returns `undefined` if there is no element for now, which ends the loop. */
export interface ElementSource<E> {
  next(): E | undefined;
  /** Returns the next element for async iterations, and may wait. Never called before the previous call has ended. */
  later?(options: WaitOptions): E | undefined | Promise<E | undefined>;
  /** Returns how many of `prefetch` elements may be fetched ahead. Called after the first element. Default: all elements. */
  most?(prefetch: number): number;
  /** Returns an element before it is requested, without waiting; `undefined` if it would have to wait. Default: `next`, or `later` if elements take time. */
  ahead?(): E | undefined;
  /** Called when the loop receives this element. */
  passed?(element: E): void;
  /** Called when the loop no longer uses this element, because it continued or ended, or when the loop will never receive the element. */
  done?(element: E): void;
  /** Called when the async loop was left. No more elements are fetched afterwards. */
  close?(): void;
}

interface Ahead {
  readonly prefetch?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns an iterable of elements. An async iteration ends, without an error, if an element is not available in time. @param begin creates the source of each
 * iteration
 */
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
  /** The element that the loop received last and still uses. */
  #delivered: E | undefined;
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
    const element = this.#source.next();
    this.#delivered = element;
    if (element !== undefined) this.#source.passed?.(element);
    return resultOf(element);
  }

  return(): IteratorResult<E, undefined> {
    this.#left = true;
    this.#goOn();
    return resultOf<E>(undefined);
  }

  #goOn(): void {
    const delivered = this.#delivered;
    this.#delivered = undefined;
    if (delivered !== undefined) this.#source.done?.(delivered);
  }
}

/** The outcome of a request that was made ahead. */
type Outcome<E> = { readonly element: E } | { readonly error: unknown };

class Later<E> implements AsyncIterableIterator<E, undefined> {
  readonly #source: ElementSource<E>;
  readonly #prefetch: number;
  readonly #signal: AbortSignal | undefined;
  /** The elements fetched ahead, in order. Filled within `next`, so that nothing changes while the body of the loop runs. */
  readonly #ready: Outcome<E>[] = [];
  /** The pending requests for elements ahead, in order. */
  readonly #coming: Promise<E | undefined>[] = [];
  /** The last request to the source, and the last call to `next`. Each finishes before the next begins. */
  #requests: Promise<unknown> = Promise.resolve();
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether the last request returned no element. Later requests then also return no element. */
  #ended = false;
  #left = false;
  /** The element that the loop received last and still uses. */
  #delivered: E | undefined;
  /** Ends the wait for an element. It is created once per loop, because its creation costs as much as a small batch. */
  readonly #stop = new AbortController();

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

  /** Ends the loop's wait. Otherwise the wait would draw items for a batch that nobody receives. */
  return(): Promise<IteratorResult<E, undefined>> {
    this.#left = true;
    this.#stop.abort();
    this.#goOn();
    for (const outcome of this.#ready.splice(0)) if ("element" in outcome) this.#source.done?.(outcome.element);
    this.#source.close?.();
    return Promise.resolve(resultOf<E>(undefined));
  }

  async #next(): Promise<IteratorResult<E, undefined>> {
    this.#goOn();
    if (this.#left) return resultOf<E>(undefined);
    this.#signal?.throwIfAborted();
    const ready = this.#ready.shift();
    if (ready !== undefined && "error" in ready) throw ready.error;
    const element = ready === undefined ? await this.#come() : ready.element;
    if (element === undefined) return resultOf<E>(undefined);
    this.#source.passed?.(element);
    this.#delivered = element;
    if (this.#prefetch > 0 && !this.#left) this.#goAhead(this.#source.most?.(this.#prefetch) ?? this.#prefetch);
    return resultOf(element);
  }

  #goOn(): void {
    const delivered = this.#delivered;
    this.#delivered = undefined;
    if (delivered !== undefined) this.#source.done?.(delivered);
  }

  /** Returns the element of the oldest request, or of a new request. */
  async #come(): Promise<E | undefined> {
    let element: E | undefined;
    try {
      // Without requests ahead, no other request is running, so an available element costs no extra turn of the event loop.
      const coming = this.#coming.shift() ?? this.#one();
      element = coming instanceof Promise ? await coming : coming;
      return element;
    } finally {
      // After the end, the next call makes new requests.
      if (element === undefined) {
        await Promise.allSettled(this.#coming.splice(0));
        this.#ended = false;
      }
    }
  }

  /** Fetches up to `most` elements ahead. */
  #goAhead(most: number): void {
    const source = this.#source;
    if (source.ahead === undefined && source.later !== undefined) {
      while (this.#coming.length < most) this.#coming.push(this.#ask());
      return;
    }
    while (this.#ready.length < most && !this.#ready.some((outcome) => "error" in outcome)) {
      try {
        const element = source.ahead === undefined ? source.next() : source.ahead();
        if (element === undefined) return;
        this.#ready.push({ element });
      } catch (error) {
        this.#ready.push({ error });
      }
    }
  }

  #ask(): Promise<E | undefined> {
    const begin = async () => (this.#ended || this.#left ? undefined : this.#one());
    const element = this.#source.later === undefined ? begin() : this.#requests.then(begin);
    // The request may fail long before it is awaited, or never be awaited.
    this.#requests = element.catch(() => {});
    return element;
  }

  #one(): E | undefined | Promise<E | undefined> {
    const source = this.#source;
    try {
      this.#signal?.throwIfAborted();
      const element = source.later === undefined ? source.next() : source.later({ signal: this.#stop.signal });
      if (element instanceof Promise) return this.#wait(element);
      this.#ended = element === undefined;
      return element;
    } catch (error) {
      return this.#fail(error);
    }
  }

  async #wait(coming: Promise<E | undefined>): Promise<E | undefined> {
    const signal = this.#signal;
    const forward = () => this.#stop.abort(signal?.reason);
    // The listener is added per call and not per loop. Otherwise the signal would keep an abandoned loop alive.
    signal?.addEventListener("abort", forward);
    if (signal?.aborted) forward();
    try {
      const element = await coming;
      this.#ended = element === undefined;
      return element;
    } catch (error) {
      return this.#fail(error);
    } finally {
      signal?.removeEventListener("abort", forward);
    }
  }

  #fail(error: unknown): undefined {
    this.#ended = true;
    if (codeOf(error) === "TIMEOUT") return undefined;
    throw error;
  }
}
