/** Text of files that may hold other bytes as well. */
import { unsupportedFile } from "../model/rlds-error.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @param subject as the message calls it @throws RldsError UNSUPPORTED for bytes that are no UTF-8: nothing is put in their place */
export function utf8(bytes: Uint8Array, subject: string, file: string): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw unsupportedFile({ file }, `${subject} holds bytes that are no text in UTF-8: store them as numbers of uint8`, cause);
  }
}

/** Without the same characters at the end that fill up a text of fixed width. */
export function withoutTail(text: string, filling: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === filling) end--;
  return text.slice(0, end);
}
