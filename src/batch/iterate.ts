/** Elements one after the other, for loops that wait and loops that do not. */
import { codeOf } from "../base/error.ts";
import { checkSignal, type WaitOptions } from "../base/wait.ts";

/**
 * `for (const batch of dataset)` continues while the table can give whole batches at once, and then ends; what is no whole batch stays in the table.
 * `for await (const batch of dataset)` waits for the rate limiter, until the signal, the timeout or `break` ends it. An iterator that has come to its end can be asked again.
 */
export interface Dataset<B> extends Iterable<B>, AsyncIterable<B> {}

/** Where elements come from: `undefined` is the end, for now. */
export interface ElementSource<E> {
  next(): E | undefined;
  /** The same for async iterations, where they may wait. Never called before the last call has ended. */
  later?(options: WaitOptions): E | undefined | Promise<E | undefined>;
  /** How many of so many elements may be had before the loop asks for them. Asked once there was one; all, where it is left out. */
  most?(prefetch: number): number;
  /** One ahead, at once: `undefined` where it would have to wait. Left out, it is `next`; where elements have to be waited for, they are then asked for ahead. */
  ahead?(): E | undefined;
  /** The loop gets this element now. */
  passed?(element: E): void;
  /** The loop has gone on, or ended: it is done with this element, or has never got it. */
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

/** What came of asking for an element ahead. */
type Outcome<E> = { readonly element: E } | { readonly error: unknown };

class Later<E> implements AsyncIterableIterator<E, undefined> {
  readonly #source: ElementSource<E>;
  readonly #prefetch: number;
  readonly #signal: AbortSignal | undefined;
  /** What is there ahead, in order. It is made within `next`, so that nothing changes while the body of a loop runs. */
  readonly #ready: Outcome<E>[] = [];
  /** What is asked for ahead where that takes time, in order. */
  readonly #coming: Promise<E | undefined>[] = [];
  /** The last element that was asked of the source, and the last call of `next`: one is done with before the next one begins. */
  #requests: Promise<unknown> = Promise.resolve();
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether the last element did not come: what was asked for behind it does not come either. */
  #ended = false;
  #left = false;
  /** The element that the loop has. */
  #delivered: E | undefined;
  /** Ends the wait for an element: one for the whole loop, since making one costs as much as a small batch. */
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

  /** A batch that still waits would draw items that nobody sees. */
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

  /** The element that was asked for first, or is asked for now. */
  async #come(): Promise<E | undefined> {
    let element: E | undefined;
    try {
      // Where nothing is asked for ahead, nothing else is being asked: an element that is there costs no turn of its own.
      const coming = this.#coming.shift() ?? this.#one();
      element = coming instanceof Promise ? await coming : coming;
      return element;
    } finally {
      // Another call begins anew.
      if (element === undefined) {
        await Promise.allSettled(this.#coming.splice(0));
        this.#ended = false;
      }
    }
  }

  /** Has so many elements ahead, or as many as there are. */
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
    // It may fail long before it is awaited, or never be awaited.
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
    // Not once for the loop: a loop that is dropped would stay with the signal.
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
