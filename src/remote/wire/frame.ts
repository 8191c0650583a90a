/**
 * Defines frames, the messages of a socket (docs/reference/actors-protocol.md lists all of them). Numbers are little endian.
 *
 *   │ kind u8 │ 0 u8 │ 0 u16 │ bytes of the text u32 │ text: a JSON object │ zeros up to a multiple of 8 │ body │
 */
import { ReplayError } from "../../base/error.ts";
import { alignUp } from "../../schema/layout.ts";

/** Kinds by name. */
export const KIND = {
  invite: 1,
  hello: 2,
  welcome: 3,
  refused: 4,
  block: 5,
  columns: 6,
  flush: 7,
  bye: 8,
  confirmation: 9,
  flushed: 10,
  closed: 11,
  message: 12,
  receipt: 13,
  ping: 14,
  pong: 15,
} as const;

export type KindName = keyof typeof KIND;

/** Names by kind. */
const NAMES = Object.fromEntries(Object.entries(KIND).map(([name, kind]) => [kind, name])) as { readonly [kind: number]: KindName | undefined };

const HEAD_BYTES = 8;
/** The alignment of columns and of the body: the size of the largest element. */
export const ALIGNMENT = 8;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

export interface Frame {
  readonly kind: KindName;
  /** The object in the frame's text. */
  readonly fields: object;
  /** The whole frame, at the start of a buffer or at a multiple of 8. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The offset of the body. */
  readonly body: number;
}

/** Returns a frame with a body of `bodyBytes` zeros. */
export function makeFrame(name: KindName, fields: object, bodyBytes = 0): Frame {
  const text = encoder.encode(JSON.stringify(fields));
  const body = HEAD_BYTES + alignUp(text.length, ALIGNMENT);
  const bytes = new Uint8Array(body + bodyBytes);
  bytes[0] = KIND[name];
  new DataView(bytes.buffer).setUint32(4, text.length, true);
  bytes.set(text, HEAD_BYTES);
  return { kind: name, fields, bytes, body };
}

/** Reads the head and the text of a frame, and leaves its body encoded. @throws ReplayError CORRUPT if the head or the text is malformed */
export function readFrame(message: ArrayBuffer | Uint8Array): Frame {
  const bytes = aligned(message);
  if (bytes.length < HEAD_BYTES) throw corruptFrame(`has only ${bytes.length} bytes`);
  const kind = NAMES[bytes[0] as number];
  if (kind === undefined) throw corruptFrame(`has the unknown kind ${bytes[0]}`);
  if (bytes[1] !== 0 || bytes[2] !== 0 || bytes[3] !== 0) throw corruptFrame("has a header whose reserved bytes are not zero");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  const body = HEAD_BYTES + alignUp(length, ALIGNMENT);
  // A frame without a body may omit the zeros at the end.
  if (HEAD_BYTES + length > bytes.length) throw corruptFrame(`declares ${length} bytes of text, but has only ${bytes.length} bytes in total`);
  let fields: unknown;
  try {
    fields = JSON.parse(decoder.decode(bytes.subarray(HEAD_BYTES, HEAD_BYTES + length)));
  } catch {
    throw corruptFrame("contains text that is not valid JSON");
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) throw corruptFrame("contains JSON that is not an object");
  return { kind, fields, bytes, body: Math.min(body, bytes.length) };
}

/** Returns the error for a frame that violates the protocol. @param what the fault of the frame */
export function corruptFrame(what: string): ReplayError {
  return new ReplayError("CORRUPT", `a frame ${what}. The other end violates the protocol of remote writers`);
}

/** Returns the bytes of a message, aligned for arrays of any dtype. A socket of Node may pass a part of a larger buffer. */
function aligned(message: ArrayBuffer | Uint8Array): Uint8Array<ArrayBuffer> {
  if (!ArrayBuffer.isView(message)) return new Uint8Array(message);
  const isWhole = message.byteOffset % ALIGNMENT === 0 && !(typeof SharedArrayBuffer === "function" && message.buffer instanceof SharedArrayBuffer);
  return isWhole ? new Uint8Array(message.buffer as ArrayBuffer, message.byteOffset, message.byteLength) : new Uint8Array(message);
}
