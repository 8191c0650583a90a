/** Implements a peer that sends handwritten frames of the protocol in docs/reference/actors-protocol.md, with arbitrary content. */
import type { ByteChannel } from "../../../src/index.ts";

export const KINDS = [
  "invite",
  "hello",
  "welcome",
  "refused",
  "block",
  "columns",
  "flush",
  "bye",
  "confirmation",
  "flushed",
  "closed",
  "message",
  "receipt",
  "ping",
  "pong",
];

const padded = (bytes: number) => Math.ceil(bytes / 8) * 8;

/** Encodes a frame; the `parts` of its body begin at multiples of 8. */
export function frame(
  kind: string | number,
  fields: object = {},
  parts: readonly (Uint8Array | Float32Array | Int32Array | Uint32Array | Float64Array)[] = [],
) {
  const text = new TextEncoder().encode(JSON.stringify(fields));
  const bodyBytes = parts.reduce((sum, part) => sum + padded(part.byteLength), 0);
  const bytes = new Uint8Array(8 + padded(text.length) + bodyBytes);
  bytes[0] = typeof kind === "number" ? kind : KINDS.indexOf(kind) + 1;
  new DataView(bytes.buffer).setUint32(4, text.length, true);
  bytes.set(text, 8);
  let at = 8 + padded(text.length);
  for (const part of parts) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += padded(part.byteLength);
  }
  return bytes;
}

// biome-ignore lint/suspicious/noExplicitAny: parsed JSON
export function read(bytes: Uint8Array): { readonly kind: string; readonly fields: any } {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  return { kind: KINDS[(bytes[0] as number) - 1] as string, fields: JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) };
}

export class RawPeer {
  readonly frames: ReturnType<typeof read>[] = [];
  code: number | undefined;
  reason: string | undefined;
  readonly closed: Promise<void>;
  readonly #channel: ByteChannel;
  #onFrame = () => {};

  constructor(channel: ByteChannel) {
    this.#channel = channel;
    this.closed = new Promise((resolve) => {
      channel.receive({
        message: (bytes) => {
          this.frames.push(read(new Uint8Array(bytes as Uint8Array)));
          this.#onFrame();
        },
        close: (code, reason) => {
          this.code = code;
          this.reason = reason;
          resolve();
        },
      });
    });
  }

  send(kind: string | number, fields?: object, parts?: Parameters<typeof frame>[2]): void {
    this.#channel.send(frame(kind, fields, parts));
  }

  raw(bytes: Uint8Array): void {
    this.#channel.send(bytes as Uint8Array<ArrayBuffer>);
  }

  /** Resolves with the first frame of a kind. */
  async heard(kind: string): Promise<ReturnType<typeof read>> {
    for (;;) {
      const found = this.frames.find((one) => one.kind === kind);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#onFrame = resolve;
      });
    }
  }
}
