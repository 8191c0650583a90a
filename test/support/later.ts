/** Returns the error with which a promise rejects. */
export async function errorFrom(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("the call was not refused"),
    (reason: Error) => reason,
  );
}
