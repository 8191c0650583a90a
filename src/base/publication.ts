/** Encodes messages from a program to its actors (bytes or JSON), and keeps the newest published message. */
import { mustBe } from "./error.ts";

/** A message in the form in which it is sent. */
export interface EncodedMessage {
  readonly type: "bytes" | "json";
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A message to actors. An ArrayBuffer or a typed array is sent as bytes. Any other value is sent as JSON. */
export type Message = ArrayBuffer | ArrayBufferView | null | boolean | number | string | object;

/** Copies a message into bytes, or encodes it as JSON. @throws TypeError if JSON cannot represent it */
export function encodeMessage(data: Message): EncodedMessage {
  if (ArrayBuffer.isView(data)) return { type: "bytes", body: new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength).slice() };
  if (data instanceof ArrayBuffer) return { type: "bytes", body: new Uint8Array(data.slice(0)) };
  const text = JSON.stringify(data);
  if (text === undefined) throw mustBe(TypeError, "a message", "bytes, or a value that JSON can represent", data);
  return { type: "json", body: new TextEncoder().encode(text) };
}

/** The newest message that a Replay published, and the listeners that receive each message. Actors that connect later also receive the newest message. */
export class Publication {
  newest: EncodedMessage | undefined;
  readonly listeners = new Set<{ publish(message: EncodedMessage): void }>();

  /** Makes a message the newest one, and sends it to all listeners. @throws TypeError if JSON cannot represent it */
  put(data: Message): void {
    const message = encodeMessage(data);
    this.newest = message;
    for (const listener of this.listeners) listener.publish(message);
  }
}
