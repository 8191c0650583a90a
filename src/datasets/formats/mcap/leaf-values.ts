/** Reads the values of leaves from messages. */
import { DTYPES } from "../../../schema/dtype.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type FieldValue, fieldValue, timeOf, valueAt } from "./field.ts";
import { type Image, imageOf, isImageSchema } from "./image.ts";
import type { MessageType } from "./message-type.ts";
import type { McapMessage } from "./messages.ts";
import type { Mapping, TopicLeaf } from "./options.ts";

export type LeafValue = FieldValue | Image;

/** Returns the value of a leaf in a message. @throws RldsError SPEC_MISMATCH if a field is missing or an image is not supported */
export function leafValue(
  file: string,
  { keys, topic, fields, isWhole }: TopicLeaf,
  { schema, data, offset }: McapMessage,
  type: MessageType,
  value: unknown,
): LeafValue {
  try {
    return isWhole && isImageSchema(schema?.name) ? imageOf(value) : fieldValue(value, type, fields, data.length);
  } catch (cause) {
    throw new RldsError("SPEC_MISMATCH", `${keys.join("/")} cannot be read from ${topic}: ${(cause as Error).message}`, { file, offset }, { cause });
  }
}

/** Returns the leaf that describes a value. */
export function leafOf({ dtype, shape }: LeafValue): StepLeaf {
  return { dtype, shape: [...shape] } as StepLeaf;
}

export function isImage(value: LeafValue): value is Image {
  return "bytes" in value;
}

/** Returns the approximate size of a value in memory, in bytes. */
export function bytesOf(value: LeafValue): number {
  if (isImage(value)) return value.bytes.length;
  if (value.dtype !== "string") return sizeOf(value.shape) * DTYPES[value.dtype].bytes;
  return (value.data as unknown as readonly string[]).reduce((sum, text) => sum + 2 * text.length, 0);
}

/** Returns the time of a message in nanoseconds, according to `clock`. @throws RldsError SPEC_MISMATCH if the header is required but has no valid time */
export function timeOfMessage(file: string, clock: Mapping["time"], { logTime, publishTime, channel, offset }: McapMessage, value: unknown): bigint {
  if (clock !== "header") return clock === "log" ? logTime : publishTime;
  try {
    const isHeadless = typeof value === "object" && value !== null && !Object.hasOwn(value, "header") && Object.hasOwn(value, "timestamp");
    return timeOf(valueAt(value, isHeadless ? "timestamp" : "header.stamp"));
  } catch (cause) {
    const what = `messages of ${channel.topic} have no valid time in the header: ${(cause as Error).message}. Pass time: "log" to use the logging times`;
    throw new RldsError("SPEC_MISMATCH", what, { file, offset }, { cause });
  }
}
