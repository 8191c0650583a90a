/** Detects files of records. Such a file begins with a length and the checksum of the length. */
import { HEAD, hasValidHead } from "../tfds/tfrecord.ts";

/** Returns whether bytes from the beginning of a file are the head of a record. */
export function isRecords(head: Uint8Array): boolean {
  return head.length >= HEAD && hasValidHead(head);
}
