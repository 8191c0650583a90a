/** The promise of items that may be refused after the call. */

/**
 * Nobody has to read it: a refusal comes with the next `flush` then. Where somebody reads it (`await`, `then`, `Promise.all`), it has told of the refusal, and `flush`
 * does not tell of it again: whoever takes part in a `Promise.race` reads it, too. One of several items tells of the first reason.
 */
export class ItemPromise extends Promise<void> {
  /** Promises of several items, of which this is one. */
  readonly #wholes: ItemPromise[] = [];
  /** Why the first of its items was refused, or what else broke it. */
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

  // What `then` gives is an ordinary promise.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(start: (resolve: () => void, reject: (reason: unknown) => void) => void) {
    super(start as ConstructorParameters<typeof Promise<void>>[0]);
    // Not an unhandled rejection: `flush` tells of it.
    super.then(undefined, () => {});
  }

  /** Whether somebody reads it. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  /** Whether somebody who reads it, or one of several items with it, has this reason. */
  hasTold(reason: unknown): boolean {
    return this.#wasRead || this.#wholes.some((whole) => whole.#refusal?.reason === reason && whole.hasTold(reason));
  }

  /**
   * Waits for it with a wait that may end before: a refusal that comes after that is not told by this.
   * @param wait is given a promise of the same, and returns one that settles with it, or earlier
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

  /** Its item is refused: one of several items has the first reason. */
  noteRefusal(reason: unknown): void {
    if (this.#refusal !== undefined) return;
    this.#refusal = { reason };
    for (const whole of this.#wholes) whole.noteRefusal(reason);
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise that knows who reads it
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
