/** Converts async iterations to web streams, and vice versa. */
import { mustBe } from "../../base/error.ts";

/** Returns a stream that pulls an element when its reader requests one. Cancelling the stream ends the iteration. */
export function readableOf<E>(elements: AsyncIterable<E>): ReadableStream<E> {
  let iterator: AsyncIterator<E> | undefined;
  return new ReadableStream<E>(
    {
      async pull(controller) {
        iterator ??= elements[Symbol.asyncIterator]();
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await iterator?.return?.();
      },
    },
    // No element is created before it is requested.
    { highWaterMark: 0 },
  );
}

/** Returns an iteration over an iterable or a stream. Not every browser supports async iteration over streams. @throws TypeError for any other value */
export function iterate<E>(subject: string, from: Iterable<E> | AsyncIterable<E> | ReadableStream<E>): AsyncIterable<E> | Iterable<E> {
  if (typeof from === "object" && from !== null) {
    if (Symbol.asyncIterator in from || Symbol.iterator in from) return from as AsyncIterable<E>;
    if (typeof (from as Partial<ReadableStream<E>>).getReader === "function") return read(from as ReadableStream<E>);
  }
  throw mustBe(TypeError, subject, "an iterable, an async iterable or a ReadableStream", from);
}

async function* read<E>(stream: ReadableStream<E>): AsyncGenerator<E, void, undefined> {
  const reader = stream.getReader();
  let hasEnded = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      hasEnded = done;
      if (done) return;
      yield value;
    }
  } finally {
    if (!hasEnded) await reader.cancel();
    reader.releaseLock();
  }
}
