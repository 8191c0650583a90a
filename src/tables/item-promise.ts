/** Implements the promise for items that may be rejected after the call returns. */

/**
 * A promise that the caller need not read. If no caller reads it, the next `flush` throws its rejection. If the caller reads it (`await`, `then`,
 * `Promise.all`), the promise reports the rejection, and `flush` does not repeat the rejection. Passing the promise to `Promise.race` also counts as reading. A
 * promise for several items rejects with the first reason.
 */
export class ItemPromise extends Promise<void> {
  /** The promises for several items that include this promise's item. */
  readonly #wholes: ItemPromise[] = [];
  /** The reason why the first of the promise's items was rejected, or another error that broke the promise. */
  #refusal: { readonly reason: unknown } | undefined;
  #wasRead = false;

  static of(parts: readonly Promise<unknown>[]): ItemPromise {
    const sources = Promise.all(parts.map((part) => (part instanceof ItemPromise ? part.#source() : part)));
    const whole = new ItemPromise((resolve, reject) => sources.then(() => resolve(), reject));
    for (const part of parts) {
      if (part instanceof ItemPromise) part.#wholes.push(whole);
      else part.catch((reason) => whole.noteRefusal(reason));
    }
    return whole;
  }

  // This makes `then` return an ordinary promise.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(start: (resolve: () => void, reject: (reason: unknown) => void) => void) {
    super(start as ConstructorParameters<typeof Promise<void>>[0]);
    // This prevents an unhandled rejection, since `flush` reports it.
    super.then(undefined, () => {});
  }

  /** Whether the caller reads this promise. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  /** Returns whether a reader has received this reason, from this promise or from a promise for several items that includes this promise's item. */
  hasTold(reason: unknown): boolean {
    return this.#wasRead || this.#wholes.some((whole) => whole.#refusal?.reason === reason && whole.hasTold(reason));
  }

  /**
   * Waits for the item with a wait that may end before the promise settles. If the wait ends first, `flush` still throws a later rejection.
   * @param wait receives an equivalent promise, and returns a promise that settles with it or earlier
   */
  readWithin<T>(wait: (source: Promise<void>) => Promise<T>): Promise<T> {
    let hasEnded = false;
    const source = this.#source().catch((reason) => {
      if (!hasEnded) this.#wasRead = true;
      throw reason;
    });
    const end = () => {
      hasEnded = true;
    };
    const result = wait(source);
    result.then(end, end);
    return result;
  }

  /** Records the rejection of the promise's item, and passes the first reason to the promises for several items. */
  noteRefusal(reason: unknown): void {
    if (this.#refusal !== undefined) return;
    this.#refusal = { reason };
    for (const whole of this.#wholes) whole.noteRefusal(reason);
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise that records whether it is read
  override then<A = void, B = never>(
    resolved?: ((value: undefined) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#wasRead = true;
    return super.then(resolved as () => A, rejected);
  }

  #source(): Promise<void> {
    return super.then();
  }
}
