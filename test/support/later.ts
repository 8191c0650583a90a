/** The error that a promise ends with. */
export async function errorFrom(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("the call was not refused"),
    (reason: Error) => reason,
  );
}
