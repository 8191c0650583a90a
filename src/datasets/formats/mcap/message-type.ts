/** Parses the types of messages from schemas, and decodes messages. */
import { MAX_NEST_DEPTH } from "../../../base/limits.ts";
import { corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { Channel, McapMessage, Schema } from "./messages.ts";

/** A field of a message, in the form that the schema parser returns. */
export interface MessageField {
  readonly name: string;
  readonly type: string;
  readonly isComplex?: boolean;
  readonly isConstant?: boolean;
  readonly isArray?: boolean;
  readonly arrayLength?: number;
}

export interface MessageType {
  /** The fields of the message. `types` has the fields of nested messages, by name. Both are undefined for JSON, which has no types. */
  readonly fields?: readonly MessageField[];
  readonly types?: ReadonlyMap<string, readonly MessageField[]>;
  /** Decodes a message. @throws Error if the message is damaged */
  decode(data: Uint8Array): unknown;
}

/** The maximum size of a schema, in bytes. ROS schemas have only a few thousand bytes. */
const MAX_SCHEMA_BYTES = 2 ** 18;
/** The size in bytes of the CDR header, which contains the byte order. Values are aligned relative to the end of the header. */
const CDR_HEAD = 4;
const BYTES: { readonly [type: string]: number } = {
  ...{ bool: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, int64: 8, uint64: 8 },
  ...{ float32: 4, float64: 8, string: 4, wstring: 4, time: 8, duration: 8 },
};

/** The types of a file's channels. Each type is parsed only once. */
export class MessageTypes {
  readonly #file: string;
  readonly #types = new Map<Schema | string, MessageType>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Returns the type of a channel's messages. @throws RldsError UNSUPPORTED if the encoding is not supported · CORRUPT if the schema is damaged */
  async typeOf(channel: Channel, schema: Schema | undefined): Promise<MessageType> {
    const key = channel.messageEncoding === "json" ? "json" : (schema ?? channel.messageEncoding);
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    const type = await this.#parse(channel, schema);
    this.#types.set(key, type);
    return type;
  }

  /** Decodes a message. @throws RldsError CORRUPT if the message is damaged · UNSUPPORTED if its encoding is not supported */
  async decode({ channel, schema, data, offset }: McapMessage): Promise<{ readonly type: MessageType; readonly value: unknown }> {
    const type = await this.typeOf(channel, schema);
    try {
      return { type, value: type.decode(data) };
    } catch (cause) {
      const name = schema === undefined ? channel.messageEncoding : schema.name;
      throw corruptFile({ file: this.#file, offset }, `a message of ${channel.topic} cannot be decoded as ${name}: ${(cause as Error).message}`, cause);
    }
  }

  async #parse({ topic, messageEncoding }: Channel, schema: Schema | undefined): Promise<MessageType> {
    if (messageEncoding === "json") return { decode: (data) => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data)) as unknown };
    const place = { file: this.#file };
    if (messageEncoding !== "cdr" || schema?.encoding !== "ros2msg")
      throw unsupportedFile(
        place,
        `messages of ${topic} have the encoding ${messageEncoding} and the schema encoding ${schema?.encoding ?? "none"}, but Reprise reads only JSON, and CDR with ros2msg. ` +
          `Record with ROS 2 Humble or newer, or convert the file with "ros2 bag convert" or "mcap convert"`,
      );
    if (schema.data.length > MAX_SCHEMA_BYTES)
      throw corruptFile(place, `the schema ${schema.name} has ${schema.data.length} bytes, more than the maximum of ${MAX_SCHEMA_BYTES}`);
    const { parse, MessageReader } = await import("./packages.ts");
    try {
      const definitions = parse(new TextDecoder().decode(schema.data), { ros2: true, skipTypeFixup: false });
      const types = new Map(definitions.map(({ name, definitions: fields }) => [name ?? "", fields as readonly MessageField[]]));
      const fields = (definitions[0]?.definitions ?? []) as readonly MessageField[];
      const least = leastBytes(fields, types, new Map(), 0);
      const reader = new MessageReader(definitions);
      const decode = (data: Uint8Array) => {
        if (data.length < CDR_HEAD + least) throw new RangeError(`the message has ${data.length} bytes, but needs at least ${CDR_HEAD + least}`);
        // The copy starts after 4 additional bytes. With the 4 bytes of the header, arrays of 8-byte numbers are then aligned for views.
        const buffer = new Uint8Array(CDR_HEAD + data.length);
        buffer.set(data, CDR_HEAD);
        return reader.readMessage(buffer.subarray(CDR_HEAD));
      };
      return { fields, types, decode };
    } catch (cause) {
      if (cause instanceof RldsError) throw cause;
      throw corruptFile(place, `the schema ${schema.name} of ${topic} cannot be read: ${(cause as Error).message}`, cause);
    }
  }
}

type Types = ReadonlyMap<string, readonly MessageField[]>;

/** Returns the minimum size of a message in bytes, without padding. @throws Error if a type is undefined, contains itself, or is nested too deeply */
function leastBytes(fields: readonly MessageField[], types: Types, known: Map<string, number>, depth: number): number {
  if (depth > MAX_NEST_DEPTH) throw new Error(`the types are nested more than ${MAX_NEST_DEPTH} levels deep, or contain themselves`);
  let bytes = 0;
  for (const { name, type, isComplex, isConstant, isArray, arrayLength } of fields) {
    if (isConstant) continue;
    let each = known.get(type) ?? BYTES[type];
    if (isComplex && !known.has(type)) {
      const nested = types.get(type);
      if (nested === undefined) throw new Error(`the schema does not define the type ${type} of the field ${name}`);
      each = leastBytes(nested, types, known, depth + 1);
      known.set(type, each);
    }
    if (each === undefined) throw new Error(`the field ${name} has the unknown type ${type}`);
    bytes += !isArray ? each : arrayLength === undefined ? 4 : arrayLength * each;
  }
  // A message without fields takes one byte.
  return Math.max(bytes, 1);
}
