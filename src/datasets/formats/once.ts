/** What is found out when it is asked for. */

/** Found out the first time, and known from then on. A failure is not kept: the next call tries again. */
export function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => {
    found ??= find().catch((error) => {
      found = undefined;
      throw error;
    });
    return found;
  };
}

/** Goes through what is known once somebody does. */
export async function* later<T>(find: () => Promise<AsyncIterable<T>>): AsyncGenerator<T, void, undefined> {
  yield* await find();
}

/** No elements. */
export async function* none(): AsyncGenerator<never, void, undefined> {}
