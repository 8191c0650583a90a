/** A promise that its creator settles. */
export interface Pending {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(reason: unknown): void;
}

/** Makes a promise that callers need not await. An unhandled rejection does not end the program. */
export function makePending(): Pending {
  let resolve: () => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<void>((...both) => {
    [resolve, reject] = both;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}
