/** Reads the messages of an MCAP file in file order, chunk by chunk. */
import type { McapStreamReader } from "@mcap/core";
import { dataView } from "../../../base/bytes.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { yieldToEventLoop } from "../../model/traversal.ts";
import { addDamage, type Damage } from "../damage.ts";
import { ReadAhead } from "../sources/read-ahead.ts";
import type { SourceFile } from "../sources/source.ts";
import { plainChunk } from "./chunk.ts";

export const MAGIC = [0x89, 0x4d, 0x43, 0x41, 0x50, 0x30, 0x0d, 0x0a];
export const RECORD_HEAD = 9;
const FOOTER = 0x02;
const SCHEMA = 0x03;
const CHANNEL = 0x04;
const MESSAGE = 0x05;
const CHUNK = 0x06;
const DATA_END = 0x0f;
const BYTES_PER_PAUSE = 1 << 23;

export interface Schema {
  readonly id: number;
  readonly name: string;
  readonly encoding: string;
  readonly data: Uint8Array;
}

export interface Channel {
  readonly id: number;
  readonly schemaId: number;
  readonly topic: string;
  readonly messageEncoding: string;
  readonly metadata: Map<string, string>;
}

export interface McapMessage {
  readonly channel: Channel;
  /** The schema. Undefined if the message has no schema, as with JSON. */
  readonly schema: Schema | undefined;
  /** The time at which the message was logged, in nanoseconds. */
  readonly logTime: bigint;
  readonly publishTime: bigint;
  readonly data: Uint8Array;
  /** The offset of the message's record, or of the chunk that contains it. */
  readonly offset: number;
}

export interface MessageOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  readonly losses: Damage | undefined;
}

/** Yields the messages of a file. The file needs no index. @throws RldsError CORRUPT if the file is damaged and `losses` is undefined */
export async function* messagesOf(file: SourceFile, options: MessageOptions): AsyncGenerator<McapMessage, void, undefined> {
  const { maxBytes, signal, losses } = options;
  const input = new ReadAhead(file, signal ? { signal } : {});
  const records = await Records.create(file.name);
  let sincePause = 0;
  for (let offset = await skipMagic(input); ; offset = input.position) {
    const fail = (what: string, cause?: unknown) => corruptFile({ file: file.name, offset }, what, cause);
    if (input.remaining < RECORD_HEAD) return addDamage(losses, fail("the file ends before its last record: it is truncated, or is still being written"));
    const head = dataView(await input.read(RECORD_HEAD));
    const opcode = head.getUint8(0);
    const length = Number(head.getBigUint64(1, true));
    if (length > input.remaining)
      return addDamage(losses, fail(`a record declares ${length} bytes, but only ${input.remaining} are left: the file is truncated or damaged`));
    if (opcode === DATA_END || opcode === FOOTER) return;
    if (opcode === 0) return addDamage(losses, fail("a record has the invalid opcode 0"));
    if (![SCHEMA, CHANNEL, MESSAGE, CHUNK].includes(opcode)) {
      input.position += length;
      continue;
    }
    try {
      if (length > maxBytes) {
        input.position += length;
        throw fail(`a record has ${length} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
      }
      const body = await input.read(length);
      try {
        const record = opcode === CHUNK ? await plainChunk(body, { file: file.name, offset, maxBytes, ...(signal && { signal }) }) : joined(head, body);
        yield* records.messages(record, offset);
      } catch (cause) {
        records.restart();
        if (cause instanceof RldsError && cause.code === "UNSUPPORTED") throw cause;
        throw signal?.aborted ? cause : fail(`a ${opcode === CHUNK ? "chunk" : "record"} cannot be read: ${(cause as Error).message}`, cause);
      }
    } catch (error) {
      addDamage(losses, error);
    }
    sincePause += length;
    if (sincePause > BYTES_PER_PAUSE) {
      sincePause = 0;
      await yieldToEventLoop(signal);
    }
  }
}

/** Skips the magic bytes and returns the offset of the first record. @throws RldsError CORRUPT if the file begins with other bytes */
async function skipMagic(input: ReadAhead): Promise<number> {
  const magic = input.remaining < MAGIC.length ? undefined : await input.read(MAGIC.length);
  if (magic === undefined || !MAGIC.every((byte, i) => magic[i] === byte))
    throw corruptFile({ file: input.file.name, offset: 0 }, "the file does not begin with the magic bytes of MCAP");
  return input.position;
}

function joined(head: DataView, body: Uint8Array): Uint8Array {
  const record = new Uint8Array(RECORD_HEAD + body.length);
  record.set(new Uint8Array(head.buffer, head.byteOffset, RECORD_HEAD));
  record.set(body, RECORD_HEAD);
  return record;
}

/** Parses records with Foxglove's library, and keeps the schemas and channels to which the records refer. */
export class Records {
  readonly channels = new Map<number, Channel>();
  readonly schemas = new Map<number, Schema>();
  readonly #packages: typeof import("./packages.ts");
  readonly #file: string;
  #reader: McapStreamReader;

  static async create(file: string): Promise<Records> {
    return new Records(file, await import("./packages.ts"));
  }

  private constructor(file: string, packages: typeof import("./packages.ts")) {
    this.#file = file;
    this.#packages = packages;
    this.#reader = new packages.McapStreamReader({ noMagicPrefix: true });
  }

  /** Yields the messages in complete records. @throws Error if a record is damaged. The caller must then call `restart` */
  *messages(record: Uint8Array, offset: number): Generator<McapMessage, void, undefined> {
    for (const found of this.read(record)) {
      if (found.type !== "Message") continue;
      const { channelId, logTime, publishTime, data } = found;
      const channel = this.channels.get(channelId) as Channel;
      const schema = this.schemas.get(channel.schemaId);
      if (schema === undefined && channel.schemaId !== 0)
        throw corruptFile(
          { file: this.#file, offset },
          `a message of ${channel.topic} refers to the schema ${channel.schemaId}, which is not defined before the message`,
        );
      yield { channel, schema, logTime, publishTime, data, offset };
    }
  }

  *read(bytes: Uint8Array) {
    this.#reader.append(bytes);
    for (let found = this.#reader.nextRecord(); found !== undefined; found = this.#reader.nextRecord()) {
      if (found.type === "Schema") this.schemas.set(found.id, found);
      else if (found.type === "Channel") this.channels.set(found.id, found);
      yield found;
    }
    if (this.#reader.bytesRemaining() > 0) throw new Error(`${this.#reader.bytesRemaining()} bytes remain after the end of the record`);
  }

  /** Replaces the reader after an error, and keeps the known channels. */
  restart(): void {
    const { McapRecordBuilder, McapStreamReader } = this.#packages;
    this.#reader = new McapStreamReader({ noMagicPrefix: true });
    const builder = new McapRecordBuilder();
    for (const channel of this.channels.values()) builder.writeChannel(channel);
    this.#reader.append(builder.buffer);
    while (this.#reader.nextRecord() !== undefined);
  }
}
