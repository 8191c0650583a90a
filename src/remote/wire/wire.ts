/**
 * Converts steps to frames and back. A frame contains the columns of a block one after the other, but only the shared frames that the other end does not have.
 */
import type { PlacedLeaf } from "../../schema/layout.ts";
import { alignUp } from "../../schema/layout.ts";
import { CLOSE, withCloseCode } from "../channels/close-codes.ts";
import { fieldsOf, isCount, isFlag, isNumber, isObject, listOf, maybe } from "../validators.ts";
import { blockLayout, rowBytesOf } from "./block.ts";
import { ALIGNMENT, corruptFrame, type Frame, makeFrame } from "./frame.ts";
import type { BlockMessage, ColumnsMessage } from "./messages.ts";
import { FrameReceiver, FrameSender, REFERENCE_BYTES, type SharedLeaves } from "./shared-frames.ts";

/** A part of a body: its place in the source, and its size. */
interface Part {
  readonly at: number;
  readonly bytes: number;
  /** The leaf of these values; undefined for other bytes. */
  readonly leaf?: number;
}

/** A leaf whose frames are sent once: the index of its entry in `shared`, and the number of frames in a value. */
interface Reference {
  readonly pool: number;
  readonly frames: number;
}

function padded(bytes: number): number {
  return alignUp(bytes, ALIGNMENT);
}

/** The part of the conversion that both ends have in common. */
abstract class StepWire {
  protected readonly leaves: readonly PlacedLeaf[];
  protected readonly lanes: number;
  protected readonly shared: readonly SharedLeaves[];
  /** The references of each leaf, by leaf number. */
  protected readonly references: readonly (Reference | undefined)[];

  constructor(leaves: readonly PlacedLeaf[], lanes: number, shared: readonly SharedLeaves[]) {
    this.leaves = leaves;
    this.lanes = lanes;
    this.shared = shared;
    this.references = leaves.map(({ arrayBytes }, i) => {
      const pool = shared.findIndex((entry) => entry.leaves.includes(i));
      return pool < 0 ? undefined : { pool, frames: arrayBytes / (shared[pool] as SharedLeaves).frameBytes };
    });
  }

  /** Returns the number of bytes of a leaf's values on the wire. */
  protected wireBytes(leaf: number, rows: number): number {
    const reference = this.references[leaf];
    return rows * (reference === undefined ? (this.leaves[leaf] as PlacedLeaf).arrayBytes : reference.frames * REFERENCE_BYTES);
  }

  /** Returns the parts of a block. @param base the offset of the block */
  protected blockParts(base: number, slots: number, used: number): Part[] {
    const { offsets, flags } = blockLayout(this.leaves, this.lanes, slots);
    const rows = used * this.lanes;
    const parts: Part[] = offsets.map((offset, leaf) => ({ at: base + offset, bytes: rows * (this.leaves[leaf] as PlacedLeaf).arrayBytes, leaf }));
    return [...parts, { at: base + flags, bytes: rows }];
  }

  /** Returns the parts of columns. */
  protected columnParts({ rows, columns, ends, finals, finalColumns, priorities }: Omit<ColumnsMessage, "kind" | "number" | "buffer">): Part[] {
    const column = (of: readonly number[], count: number) =>
      of.map((at, leaf): Part => ({ at, bytes: count * (this.leaves[leaf] as PlacedLeaf).arrayBytes, leaf }));
    return [
      ...column(columns, rows),
      ...(ends === 0 ? [] : [{ at: ends, bytes: rows }]),
      ...(finals === 0 ? [] : column(finalColumns, finals)),
      ...priorities.flatMap((at) => (at === 0 ? [] : [{ at, bytes: 8 * rows }])),
    ];
  }

  /** Returns the number of bytes of a part on the wire. */
  protected sizeOf({ leaf, bytes }: Part): number {
    return leaf === undefined ? bytes : this.wireBytes(leaf, bytes / (this.leaves[leaf] as PlacedLeaf).arrayBytes);
  }
}

/** The writer's end of a connection. */
export class StepEncoder extends StepWire {
  readonly #senders: readonly FrameSender[];

  constructor(leaves: readonly PlacedLeaf[], lanes: number, shared: readonly SharedLeaves[]) {
    super(leaves, lanes, shared);
    this.#senders = shared.map((entry) => new FrameSender(entry));
  }

  encode(message: BlockMessage | ColumnsMessage): Frame {
    if (message.kind === "block") {
      const { number, buffer, base, slots, used, calls, columns } = message;
      return this.#encode("block", { number, slots: used, calls, columns }, buffer, this.blockParts(base, slots, used));
    }
    const { number, buffer, rows, ends, finals, priorities } = message;
    const fields = { number, rows, ends: ends !== 0, finals, priorities: priorities.map((at) => Number(at !== 0)) };
    return this.#encode("columns", fields, buffer, this.columnParts(message));
  }

  #encode(kind: "block" | "columns", fields: object, buffer: ArrayBuffer, parts: readonly Part[]): Frame {
    const from = new Uint8Array(buffer);
    const fresh: number[][] = this.shared.map(() => []);
    const referencesOf = parts.map((part) => (part.leaf === undefined ? undefined : this.#refer(from, part, part.leaf, fresh)));
    const frames = fresh.map((list) => list.length);
    const size = parts.reduce((sum, part) => sum + padded(this.sizeOf(part)), 0);
    const frameBytes = this.shared.reduce((sum, entry, pool) => sum + padded((frames[pool] as number) * entry.frameBytes), 0);
    const frame = makeFrame(kind, this.shared.length === 0 ? fields : { ...fields, frames }, size + frameBytes);
    let at = frame.body;
    parts.forEach((part, i) => {
      const references = referencesOf[i];
      if (references === undefined) frame.bytes.set(from.subarray(part.at, part.at + part.bytes), at);
      else new Uint32Array(frame.bytes.buffer, at, references.length).set(references);
      at += padded(this.sizeOf(part));
    });
    this.shared.forEach((entry, pool) => {
      for (const [k, source] of (fresh[pool] as number[]).entries())
        frame.bytes.set(from.subarray(source, source + entry.frameBytes), at + k * entry.frameBytes);
      at += padded((frames[pool] as number) * entry.frameBytes);
    });
    return frame;
  }

  /** Returns the references of a part if its leaf shares frames. @param fresh receives the places of frames to send */
  #refer(from: Uint8Array, { at, bytes }: Part, leaf: number, fresh: number[][]): number[] | undefined {
    const reference = this.references[leaf];
    if (reference === undefined) return undefined;
    const { frameBytes } = this.shared[reference.pool] as SharedLeaves;
    const sender = this.#senders[reference.pool] as FrameSender;
    const references: number[] = [];
    for (let place = at; place < at + bytes; place += frameBytes) {
      const { number, isNew } = sender.refer(from, place);
      if (isNew) (fresh[reference.pool] as number[]).push(place);
      references.push(number);
    }
    return references;
  }
}

const isCounts = maybe(listOf(isCount));
const isBlockFields = fieldsOf({ number: isCount, slots: isCount, calls: listOf(isNumber), columns: listOf(isObject), frames: isCounts });
const isColumnsFields = fieldsOf({ number: isCount, rows: isCount, ends: isFlag, finals: isCount, priorities: listOf(isCount), frames: isCounts });

/** The Replay's end of a connection. It compares every size in a message with the received bytes before it uses the size. */
export class StepDecoder extends StepWire {
  readonly #receivers: readonly FrameReceiver[];
  readonly #maxBytes: number;
  readonly #rules: number;

  /** @param maxBytes the maximum size of the decoded steps of one frame, in bytes @param rules the number of the writer's rules */
  constructor(leaves: readonly PlacedLeaf[], lanes: number, shared: readonly SharedLeaves[], maxBytes: number, rules: number) {
    super(leaves, lanes, shared);
    this.#receivers = shared.map((entry) => new FrameReceiver(entry));
    this.#maxBytes = maxBytes;
    this.#rules = rules;
  }

  /** Converts a frame to steps. @throws ReplayError CORRUPT if a field is missing, a size is inconsistent, or the steps exceed the limit */
  decode({ kind, fields, bytes, body }: Frame): BlockMessage | ColumnsMessage {
    if (kind === "block") {
      if (!isBlockFields(fields)) throw corruptFrame("of a block lacks a field");
      const { number, slots, calls, columns, frames } = fields as {
        readonly number: number;
        readonly slots: number;
        readonly calls: number[];
        readonly columns: object[];
        readonly frames?: number[];
      };
      this.#checkRows(slots * this.lanes);
      const layout = blockLayout(this.leaves, this.lanes, slots);
      const { buffer, base } = this.#read(bytes, body, this.blockParts(0, slots, slots), layout.bytes, frames);
      return { kind, number, buffer, base, slots, used: slots, calls, columns };
    }
    if (!isColumnsFields(fields)) throw corruptFrame("of columns lacks a field");
    const { number, rows, ends, finals, priorities, frames } = fields as {
      readonly number: number;
      readonly rows: number;
      readonly ends: boolean;
      readonly finals: number;
      readonly priorities: number[];
      readonly frames?: number[];
    };
    if (rows === 0 || rows % this.lanes !== 0 || finals > rows || priorities.length !== this.#rules) throw corruptFrame("of columns is inconsistent");
    this.#checkRows(rows + finals);
    // Places are counted from ALIGNMENT, so that 0 can mark a part that does not exist.
    let at = ALIGNMENT;
    const place = (size: number) => {
      const from = at;
      at += padded(size);
      return from;
    };
    const column = (count: number) => this.leaves.map(({ arrayBytes }) => place(count * arrayBytes));
    const parts = {
      rows,
      columns: column(rows),
      ends: ends ? place(rows) : 0,
      finals,
      finalColumns: finals === 0 ? [] : column(finals),
      priorities: priorities.map((has) => (has === 0 ? 0 : place(8 * rows))),
    };
    const { buffer, base } = this.#read(bytes, body, this.columnParts(parts), at, frames, ALIGNMENT);
    const moved = (from: number) => (from === 0 ? 0 : from + base);
    return {
      kind: "columns",
      number,
      buffer,
      rows,
      columns: parts.columns.map(moved),
      ends: moved(parts.ends),
      finals,
      finalColumns: parts.finalColumns.map(moved),
      priorities: parts.priorities.map(moved),
    };
  }

  #checkRows(rows: number): void {
    const bytes = rows * rowBytesOf(this.leaves);
    if (bytes <= this.#maxBytes) return;
    throw withCloseCode(corruptFrame(`has ${rows} rows of ${bytes} bytes, but limits.frameBytes allows ${this.#maxBytes}`), CLOSE.tooLarge);
  }

  /**
   * Returns the bytes of parts in a buffer of `size` bytes: the frame itself, or a new buffer if shared frames have to be inserted or the frame omits the zeros
   * at its end.
   * @param first the place of the first part
   */
  #read(bytes: Uint8Array<ArrayBuffer>, body: number, parts: readonly Part[], size: number, counts: readonly number[] = [], first = 0) {
    if (counts.length !== this.shared.length)
      throw corruptFrame(`has counts for ${counts.length} kinds of shared frames, but the spec has ${this.shared.length}`);
    const columnBytes = parts.reduce((sum, part) => sum + padded(this.sizeOf(part)), 0);
    const frameBytes = counts.map((count, pool) => count * (this.shared[pool] as SharedLeaves).frameBytes);
    const total = frameBytes.reduce((sum, each) => sum + padded(each), columnBytes);
    const available = padded(bytes.length - body);
    if (total !== available) throw corruptFrame(`has a body of ${bytes.length - body} bytes, but must have ${total}`);
    if (this.shared.length === 0 && bytes.length - body === total) return { buffer: bytes.buffer, base: bytes.byteOffset + body - first };
    const to = new Uint8Array(size);
    // The zeros at the end are optional.
    const whole = bytes.length - body === total ? bytes : extended(bytes, body + total);
    let frameAt = body + columnBytes;
    const frames = frameBytes.map((each) => {
      const from = frameAt;
      frameAt += padded(each);
      return whole.subarray(from, from + each);
    });
    let at = body;
    for (const part of parts) {
      const reference = part.leaf === undefined ? undefined : this.references[part.leaf];
      const wire = this.sizeOf(part);
      if (reference === undefined) to.set(whole.subarray(at, at + part.bytes), part.at);
      else {
        const references = new Uint32Array(whole.buffer, whole.byteOffset + at, wire / REFERENCE_BYTES);
        (this.#receivers[reference.pool] as FrameReceiver).resolve(references, frames[reference.pool] as Uint8Array, to, part.at);
      }
      at += padded(wire);
    }
    frames.forEach((each, pool) => {
      (this.#receivers[pool] as FrameReceiver).add(each);
    });
    return { buffer: to.buffer, base: 0 };
  }
}

/** Returns the same bytes, followed by zeros. */
function extended(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  whole.set(bytes);
  return whole;
}
