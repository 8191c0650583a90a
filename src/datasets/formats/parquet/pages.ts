/** Decodes one column of one row group, after checking its pages. */
import { dataView } from "../../../base/bytes.ts";
import { type AnyArray, type Dtype, isFloat, zeros } from "../../../schema/dtype.ts";
import { widenHalf } from "../../../schema/half.ts";
import type { FileColumn } from "./columns.ts";
import type { Decompress, Hyparquet } from "./packages.ts";
import { decodeRuns, widthOf } from "./runs.ts";
import { Thrift, type ThriftStruct } from "./thrift.ts";

/** The values of a column in a row group. */
export interface ChunkValues {
  /** All elements in order. A missing float is NaN. */
  readonly values: AnyArray | readonly (string | Uint8Array)[];
  /** The number of elements per row, if the column has lists. */
  readonly counts?: Uint32Array;
  /** The level at which each element begins a new list, for lists of lists. */
  readonly levels?: Uint8Array;
  /** The first row in which a required value is missing, or -1. */
  readonly missing: number;
}

export interface ChunkSchema {
  readonly column: FileColumn;
  readonly decompress: Decompress;
  readonly rows: number;
  /** The number of entries that the file declares for the column. */
  readonly entries: number;
  readonly maxBytes: number;
}

/** The types of pages and the encodings, by their numbers in the file. */
const [DATA, INDEX, DICTIONARY, DATA_V2] = [0, 1, 2, 3];
const [PLAIN, PLAIN_DICTIONARY, RLE, DELTA, DELTA_LENGTH, DELTA_BYTES, RLE_DICTIONARY, SPLIT] = [0, 2, 3, 5, 6, 7, 8, 9];
const ENCODINGS = [
  "PLAIN",
  undefined,
  "PLAIN_DICTIONARY",
  "RLE",
  "BIT_PACKED",
  "DELTA_BINARY_PACKED",
  "DELTA_LENGTH_BYTE_ARRAY",
  "DELTA_BYTE_ARRAY",
  "RLE_DICTIONARY",
  "BYTE_STREAM_SPLIT",
];
const WIDTHS: { readonly [physical: string]: number } = { INT32: 4, INT64: 8, FLOAT: 4, DOUBLE: 8 };

/** Decoded values in the types of the file, which are numbers, booleans, bigints and bytes. */
type PageValues = ArrayLike<number | bigint | boolean | Uint8Array>;

interface Page {
  readonly entries: number;
  readonly encoding: number;
  readonly definitions: Uint8Array | undefined;
  readonly repetitions: Uint8Array | undefined;
  /** The bytes of the values, without the levels. */
  readonly bytes: Uint8Array;
}

const NO_TEXT = new Uint8Array(0);

/** Decodes a column chunk. @throws RangeError and the errors of hyparquet if the chunk is damaged · Unreadable if the chunk is valid but not supported */
export function decodeChunk(bytes: Uint8Array, schema: ChunkSchema, packages: Hyparquet): ChunkValues {
  const { column, rows, entries, maxBytes } = schema;
  // Runs expand a few bytes to many values, so the size is checked before decoding.
  if (entries * (WIDTHS[column.physical] ?? 8) > maxBytes)
    throw new RangeError(`the ${entries} values of the column take more than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
  const columnBuffer = new ColumnBuffer(column, rows, entries);
  let dictionary: PageValues | undefined;
  for (const { head, type, body } of pagesOf(bytes, schema)) {
    if (type === DICTIONARY) {
      const header = fieldsOf(head, 7);
      dictionary = decodePlain(body, numberAt(header, 1), column, packages);
    } else if (type === DATA || type === DATA_V2) {
      const page = type === DATA ? pageOf(body, fieldsOf(head, 5), column) : pageV2Of(head, body, schema);
      columnBuffer.add(page, decodePage(page, dictionary, schema, packages));
    }
  }
  return columnBuffer.finish();
}

/** The error for data that is valid but not supported. */
export class Unreadable extends Error {}

function* pagesOf(
  bytes: Uint8Array,
  { decompress, maxBytes }: ChunkSchema,
): Generator<{ readonly head: ThriftStruct; readonly type: number; readonly body: Uint8Array }, void> {
  let total = 0;
  for (let at = 0; at < bytes.length; ) {
    const thrift = new Thrift(bytes, at);
    const head = thrift.struct();
    const [type, size, packed] = [1, 2, 3].map((field) => numberAt(head, field)) as [number, number, number];
    if (packed > bytes.length - thrift.at) throw new RangeError(`a page of ${packed} bytes extends beyond its column`);
    total += size;
    if (total > maxBytes) throw new RangeError(`the pages of the column take more than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
    const raw = bytes.subarray(thrift.at, thrift.at + packed);
    at = thrift.at + packed;
    if (type === INDEX) continue;
    // In data pages of version 2, only the values are compressed, not the levels.
    const body = type === DATA_V2 ? raw : decompress(raw, size);
    if (body.length !== (type === DATA_V2 ? packed : size)) throw new RangeError(`a page has ${body.length} bytes instead of the declared ${size}`);
    yield { head, type, body };
  }
}

function pageOf(body: Uint8Array, header: ThriftStruct, { listDepth, maxDefinition }: FileColumn): Page {
  const entries = numberAt(header, 1);
  const view = dataView(body);
  let at = 0;
  const levels = (max: number, encoding: number): Uint8Array | undefined => {
    if (max === 0) return undefined;
    if (encoding !== RLE) throw new Unreadable("the levels have the deprecated encoding BIT_PACKED");
    const length = view.getUint32(at, true);
    at += 4;
    const levels = levelsOf(body, at, at + length, max, entries);
    at += length;
    return levels;
  };
  const repetitions = levels(listDepth, numberAt(header, 4));
  const definitions = levels(maxDefinition, numberAt(header, 3));
  return { entries, encoding: numberAt(header, 2), definitions, repetitions, bytes: body.subarray(at) };
}

function pageV2Of(head: ThriftStruct, body: Uint8Array, { column, decompress }: ChunkSchema): Page {
  const header = fieldsOf(head, 8);
  const entries = numberAt(header, 1);
  const [definitionBytes, repetitionBytes] = [numberAt(header, 5), numberAt(header, 6)];
  const start = repetitionBytes + definitionBytes;
  const size = numberAt(head, 2) - start;
  if (start > body.length || size < 0) throw new RangeError("the levels extend beyond their page");
  const repetitions = column.listDepth === 0 ? undefined : levelsOf(body, 0, repetitionBytes, column.listDepth, entries);
  const definitions = column.maxDefinition === 0 ? undefined : levelsOf(body, repetitionBytes, start, column.maxDefinition, entries);
  const rest = body.subarray(start);
  // A page without values has nothing to decompress.
  const bytes = header[7] === false || size === 0 ? rest : decompress(rest, size);
  if (size > 0 && bytes.length !== size) throw new RangeError(`a page has ${bytes.length} bytes instead of the declared ${size}`);
  return { entries, encoding: numberAt(header, 4), definitions, repetitions, bytes };
}

function levelsOf(body: Uint8Array, start: number, end: number, max: number, entries: number): Uint8Array {
  if (end > body.length) throw new RangeError("the levels extend beyond their page");
  return runs(body.subarray(start, end), widthOf(max), new Uint8Array(entries), max);
}

/** Decodes runs until `into` is full. No value may exceed `max`. */
function runs<A extends Uint8Array | Uint32Array>(bytes: Uint8Array, width: number, into: A, max: number): A {
  if (width === 0) return into;
  decodeRuns(bytes, width, into);
  for (let i = 0; i < into.length; i++) if ((into[i] as number) > max) throw new RangeError(`a value is ${into[i]}, more than the maximum of ${max}`);
  return into;
}

/** Decodes the values of a page that are not missing. */
function decodePage(
  { entries, encoding, definitions, bytes }: Page,
  dictionary: PageValues | undefined,
  { column, maxBytes }: ChunkSchema,
  packages: Hyparquet,
): PageValues {
  let count = entries;
  if (definitions !== undefined) for (let i = 0; i < entries; i++) if (definitions[i] !== column.maxDefinition) count--;
  const { physical, typeLength } = column;
  if (count === 0) return [];
  if (encoding === PLAIN) return decodePlain(bytes, count, column, packages);
  if (encoding === PLAIN_DICTIONARY || encoding === RLE_DICTIONARY) {
    if (dictionary === undefined || dictionary.length === 0) throw new RangeError("the dictionary page is missing");
    const indices = runs(bytes.subarray(1), bytes[0] as number, new Uint32Array(count), dictionary.length - 1);
    return Array.from(indices, (index) => dictionary[index] as number);
  }
  const view = dataView(bytes);
  if (encoding === RLE && physical === "BOOLEAN") return runs(bytes.subarray(4, 4 + view.getUint32(0, true)), 1, new Uint8Array(count), 1);
  if (encoding === SPLIT) {
    if (count * (WIDTHS[physical] ?? typeLength) > bytes.length) throw new RangeError("a page has fewer bytes than its values need");
    return packages.byteStreamSplit({ view, offset: 0 }, count, physical as "FLOAT", typeLength) as PageValues;
  }
  if (encoding === DELTA && (physical === "INT32" || physical === "INT64")) {
    checkDelta(bytes, count);
    const into = physical === "INT32" ? new Int32Array(count) : new BigInt64Array(count);
    packages.deltaBinaryUnpack({ view, offset: 0 }, count, into);
    return into;
  }
  if (encoding === DELTA_LENGTH && physical === "BYTE_ARRAY") {
    checkDelta(bytes, count);
    const into = new Array<Uint8Array>(count);
    packages.deltaLengthByteArray({ view, offset: 0 }, count, into);
    return into;
  }
  if (encoding === DELTA_BYTES && (physical === "BYTE_ARRAY" || physical === "FIXED_LEN_BYTE_ARRAY")) return decodeDeltaBytes(bytes, count, maxBytes, packages);
  throw new Unreadable(`Reprise cannot read the encoding ${ENCODINGS[encoding] ?? encoding} of ${physical} values`);
}

/** Decodes values that share a prefix with the previous value. */
function decodeDeltaBytes(bytes: Uint8Array, count: number, maxBytes: number, { deltaBinaryUnpack }: Hyparquet): Uint8Array[] {
  const reader = { view: dataView(bytes), offset: 0 };
  const lengths = () => {
    checkDelta(bytes.subarray(reader.offset), count);
    const into = new Int32Array(count);
    deltaBinaryUnpack(reader, count, into);
    return into;
  };
  const [prefixes, suffixes] = [lengths(), lengths()];
  const values: Uint8Array[] = [];
  let previous = NO_TEXT;
  let total = 0;
  for (let i = 0; i < count; i++) {
    const [prefix, suffix] = [prefixes[i] as number, suffixes[i] as number];
    if (prefix < 0 || suffix < 0 || prefix > previous.length || suffix > bytes.length - reader.offset) throw new RangeError("a value extends beyond its page");
    total += prefix + suffix;
    if (total > maxBytes) throw new RangeError(`the values of the column take more than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
    // A value that equals the previous value, as most values do, shares its bytes.
    if (suffix > 0 || prefix !== previous.length) {
      const value = new Uint8Array(prefix + suffix);
      value.set(previous.subarray(0, prefix));
      value.set(bytes.subarray(reader.offset, reader.offset + suffix), prefix);
      reader.offset += suffix;
      previous = value;
    }
    values.push(previous);
  }
  return values;
}

/** Checks the header of delta-encoded values. The number of miniblocks per block determines how much data the decoder reads together. */
function checkDelta(bytes: Uint8Array, count: number): void {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) break;
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new RangeError("the values end too early");
  };
  const [block, miniblocks, total] = [varint(), varint(), varint()];
  if (block % 128 !== 0 || block === 0 || miniblocks === 0 || (block / miniblocks) % 32 !== 0 || total < count)
    throw new RangeError("the delta blocks are invalid");
}

function decodePlain(bytes: Uint8Array, count: number, { physical, typeLength }: FileColumn, { readPlain }: Hyparquet): PageValues {
  const width = physical === "BOOLEAN" ? 1 / 8 : physical === "BYTE_ARRAY" ? 4 : physical === "FIXED_LEN_BYTE_ARRAY" ? typeLength : (WIDTHS[physical] ?? 0);
  if (width === 0) throw new Unreadable(`Reprise cannot read the type ${physical}`);
  if (Math.ceil(count * width) > bytes.length) throw new RangeError("a page has fewer bytes than its values need");
  const view = dataView(bytes);
  if (physical !== "BYTE_ARRAY") return readPlain({ view, offset: 0 }, physical as "INT32", count, typeLength) as PageValues;
  const values: Uint8Array[] = [];
  for (let i = 0, at = 0; i < count; i++) {
    const length = view.getUint32(at, true);
    if (length > bytes.length - at - 4) throw new RangeError("a value extends beyond its page");
    values.push(new Uint8Array(bytes.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return values;
}

/** Collects the values of consecutive pages. */
class ColumnBuffer {
  readonly #column: FileColumn;
  readonly #rows: number;
  readonly #entries: number;
  readonly #values: AnyArray | (string | Uint8Array)[];
  readonly #counts: Uint32Array | undefined;
  readonly #levels: Uint8Array | undefined;
  readonly #texts = new Map<Uint8Array, string>();
  #size = 0;
  #entry = 0;
  #row = -1;
  #missing = -1;

  constructor(column: FileColumn, rows: number, entries: number) {
    this.#column = column;
    this.#rows = rows;
    this.#entries = entries;
    const { dtype, listDepth } = column;
    if (dtype === undefined) throw new Unreadable(`Reprise cannot read the type ${column.type}`);
    this.#values = dtype === "string" || dtype === "bytes" ? [] : (zeros(dtype as Dtype, entries) as AnyArray);
    if (listDepth > 0) this.#counts = new Uint32Array(rows);
    if (listDepth > 1) this.#levels = new Uint8Array(entries);
  }

  add({ entries, definitions, repetitions }: Page, pageValues: PageValues): void {
    const { maxDefinition, optional } = this.#column;
    if (this.#entry + entries > this.#entries) throw new RangeError(`the pages have more than the declared ${this.#entries} values`);
    this.#entry += entries;
    for (let i = 0, next = 0; i < entries; i++) {
      const level = repetitions?.[i] ?? 0;
      if (level === 0 && ++this.#row >= this.#rows) throw new RangeError(`the column has more than the declared ${this.#rows} rows`);
      if (this.#row < 0) throw new RangeError("the first value is not at the start of a row");
      const definition = definitions?.[i] ?? maxDefinition;
      const isPresent = definition === maxDefinition;
      // An empty list or a missing list has an entry but no element.
      if (!isPresent && this.#counts !== undefined && !(optional && definition === maxDefinition - 1)) continue;
      if (this.#levels !== undefined) this.#levels[this.#size] = level;
      this.#put(isPresent ? pageValues[next++] : undefined);
      if (this.#counts !== undefined) this.#counts[this.#row] = (this.#counts[this.#row] as number) + 1;
    }
  }

  finish(): ChunkValues {
    if (this.#entry !== this.#entries || this.#row !== this.#rows - 1)
      throw new RangeError(`the column has ${this.#entry} values in ${this.#row + 1} rows instead of ${this.#entries} in ${this.#rows}`);
    const size = this.#size;
    const values = Array.isArray(this.#values) ? this.#values : (this.#values as Float32Array).subarray(0, size);
    return { values, counts: this.#counts, levels: this.#levels?.subarray(0, size), missing: this.#missing };
  }

  #put(value: number | bigint | boolean | Uint8Array | undefined): void {
    const { dtype, nullValue } = this.#column;
    const at = this.#size++;
    const to = this.#values as Float32Array;
    if (value === undefined && nullValue !== undefined) {
      if (Array.isArray(this.#values)) this.#values.push(nullValue as string);
      else to[at] = nullValue as number;
    } else if (value === undefined) {
      const float = isFloat(dtype);
      if (float) to[at] = Number.NaN;
      if (!float && this.#missing < 0) this.#missing = this.#row;
      if (Array.isArray(this.#values)) this.#values.push(dtype === "string" ? "" : NO_TEXT);
    } else if (dtype === "string") {
      (this.#values as string[]).push(this.#text(value as Uint8Array));
    } else if (dtype === "bytes") {
      (this.#values as Uint8Array[]).push(value as Uint8Array);
    } else if (dtype === "f16") {
      const [low, high] = value as Uint8Array;
      to[at] = widenHalf("f16", (low as number) | ((high as number) << 8));
    } else {
      // The assignment narrows an integer to the dtype of the column, and reinterprets an unsigned integer.
      to[at] = value as number;
    }
  }

  /** Decodes a text. Each text of a dictionary is decoded only once. */
  #text(bytes: Uint8Array): string {
    const cachedText = this.#texts.get(bytes);
    if (cachedText !== undefined) return cachedText;
    const text = decoder.decode(bytes);
    this.#texts.set(bytes, text);
    return text;
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function fieldsOf(head: ThriftStruct, field: number): ThriftStruct {
  const part = head[field];
  if (typeof part !== "object" || Array.isArray(part) || part instanceof Uint8Array) throw new RangeError("a page header is incomplete");
  return part as ThriftStruct;
}

function numberAt(fields: ThriftStruct, field: number): number {
  const count = fields[field];
  if (typeof count !== "number" || count < 0) throw new RangeError("a page header has a missing or negative number");
  return count;
}
