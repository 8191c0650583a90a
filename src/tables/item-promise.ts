/** The promise of items that a server may refuse after the call. */

/**
 * Nobody has to read it: a refusal comes with the next `flush` then. Where somebody reads it (`await`, `then`, `Promise.all`), it has told of the refusal, and `flush`
 * does not tell of it again.
 */
export class ItemPromise extends Promise<void> {
  /** What it waits for, to be read without being noticed. */
  readonly #parts: readonly Promise<unknown>[];
  #isRead = false;

  /** @param parts promises of items: those of this class count as read once this one is read */
  static of(parts: readonly Promise<unknown>[]): ItemPromise {
    const sources = Promise.all(parts.map((part) => (part instanceof ItemPromise ? part.#source() : part)));
    return new ItemPromise((resolve, reject) => sources.then(() => resolve(), reject), parts);
  }

  // What `then` gives is an ordinary promise.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(start: (resolve: () => void, reject: (reason: unknown) => void) => void, parts: readonly Promise<unknown>[] = []) {
    super(start as ConstructorParameters<typeof Promise<void>>[0]);
    this.#parts = parts;
    // Not an unhandled rejection: `flush` tells of it.
    super.then(undefined, () => {});
  }

  get isRead(): boolean {
    return this.#isRead;
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise that knows who reads it
  override then<A = void, B = never>(
    resolved?: ((value: undefined) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#markRead();
    return super.then(resolved as () => A, rejected);
  }

  #markRead(): void {
    this.#isRead = true;
    for (const part of this.#parts) if (part instanceof ItemPromise) part.#markRead();
  }

  #source(): Promise<void> {
    return super.then();
  }
}
