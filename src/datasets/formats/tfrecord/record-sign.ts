/** How a file of records begins: a length with its checksum. */
import { HEAD, hasValidHead } from "../tfds/tfrecord.ts";

/** Whether bytes from a file's beginning are the head of a record. */
export function isRecords(head: Uint8Array): boolean {
  return head.length >= HEAD && hasValidHead(head);
}
