/** Messages of a program to its actors: bytes, or what JSON has; and the newest one that was published. */
import { mustBe } from "./error.ts";

/** A message as it goes. */
export interface EncodedMessage {
  readonly type: "bytes" | "json";
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A message to actors: an ArrayBuffer or a typed array goes as its bytes, anything else as JSON. */
export type Message = ArrayBuffer | ArrayBufferView | null | boolean | number | string | object;

/** Copies a message. @throws TypeError for what JSON cannot say */
export function encodeMessage(data: Message): EncodedMessage {
  if (ArrayBuffer.isView(data)) return { type: "bytes", body: new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength).slice() };
  if (data instanceof ArrayBuffer) return { type: "bytes", body: new Uint8Array(data.slice(0)) };
  const text = JSON.stringify(data);
  if (text === undefined) throw mustBe(TypeError, "a message", "bytes, or a value that JSON can say", data);
  return { type: "json", body: new TextEncoder().encode(text) };
}

/** What a Replay has published: whoever comes later receives the newest. */
export class Publication {
  newest: EncodedMessage | undefined;
  readonly listeners = new Set<{ publish(message: EncodedMessage): void }>();

  /** @throws TypeError */
  put(data: Message): void {
    const message = encodeMessage(data);
    this.newest = message;
    for (const listener of this.listeners) listener.publish(message);
  }
}
