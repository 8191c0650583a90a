/** Decodes text in files that may also contain other bytes. */
import { unsupportedFile } from "../model/rlds-error.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes UTF-8. Invalid bytes are never replaced.
 * @param subject the name of the text in messages @throws RldsError UNSUPPORTED if the bytes are not UTF-8
 */
export function utf8(bytes: Uint8Array, subject: string, file: string): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw unsupportedFile({ file }, `${subject} is not valid UTF-8. Store its bytes as uint8 numbers`, cause);
  }
}

/** Returns a string without the characters at its end that pad the string to a fixed width. */
export function withoutTail(text: string, filling: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === filling) end--;
  return text.slice(0, end);
}
