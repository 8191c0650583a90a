/** Parses and checks the metadata of a Zarr array, in version 2 or 3 of the format, before any chunk is read. */
import { isDtype } from "../../../schema/dtype.ts";
import { narrowHalves } from "../../../schema/half.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { corruptFile, type RldsError, unsupportedFile } from "../../model/rlds-error.ts";

type Values = { readonly [name: string]: unknown };

/** The compression of a chunk, and its required size. */
export interface ChunkBytes {
  readonly compressor: Compressor | undefined;
  /** The required size of the decompressed chunk, in bytes. Undefined if elements have no fixed width. */
  readonly decompressed: number | undefined;
  /** The total size of the checksums after the compressed bytes, in bytes. */
  readonly behind: number;
}

export type Compressor = "blosc" | "zstd" | "lz4" | "gzip" | "zlib";

export interface ArrayMetadata {
  readonly version: 2 | 3;
  readonly shape: readonly number[];
  /** The shape of the elements that are compressed together. */
  readonly chunks: readonly number[];
  /** The shape of the part of the array that one file stores, if a file stores several chunks. */
  readonly shards?: readonly number[];
  readonly dtype: StepLeaf["dtype"];
  /** The approximate memory that an element takes, in bytes. */
  readonly memoryBytes: number;
  readonly chunkBytes: ChunkBytes;
  /** The size of a shard's index, in bytes. */
  readonly indexBytes?: number;
  /** The metadata that is passed to zarrita, without types that zarrita does not support in every runtime. */
  readonly json: Values;
}

const COMPRESSORS: readonly string[] = ["blosc", "zstd", "lz4", "gzip", "zlib"];
/** The filters of version 2 that preserve the type and the number of elements. */
const FILTERS: readonly unknown[] = ["delta", "shuffle"];
const MAX_DIMENSIONS = 32;
/** The approximate memory overhead of a string, in bytes. */
const STRING = 24;

interface Fault {
  readonly file: string;
  corrupt(what: string): RldsError;
  unsupported(what: string): RldsError;
}

/**
 * Parses the metadata of an array. @param path the path of the array
 * @throws RldsError CORRUPT if it is invalid · UNSUPPORTED if Reprise cannot read the array
 */
export function arrayMetadata(value: unknown, file: string, path: string): ArrayMetadata {
  const fault: Fault = {
    file,
    corrupt: (what) => corruptFile({ file }, `${path} ${what}`),
    unsupported: (what) => unsupportedFile({ file }, `${path} ${what}`),
  };
  const values = objectOf(value, fault, "has metadata that is not an object");
  return values.zarr_format === 2 ? ofVersion2(values, fault) : ofVersion3(values, fault);
}

function ofVersion2(values: Values, fault: Fault): ArrayMetadata {
  const shape = dimensions(values.shape, 0, fault, "shape");
  const chunks = dimensions(values.chunks, 1, fault, "chunks");
  if (chunks.length !== shape.length) throw fault.corrupt(`has ${shape.length} dimensions, but its chunks have ${chunks.length}`);
  if (values.order !== "C" && values.order !== "F") throw fault.corrupt(`must have the order C or F, got ${JSON.stringify(values.order)}`);
  const filters = values.filters === null || values.filters === undefined ? [] : listOf(values.filters, fault, "filters");
  const names = filters.map((filter) => objectOf(filter, fault, "has a filter that is not an object").id);
  const isText = names.length === 1 && names[0] === "vlen-utf8" && values.dtype === "|O";
  const other = names.find((name) => !FILTERS.includes(name));
  if (other !== undefined && !isText) throw fault.unsupported(`has the filter ${JSON.stringify(other)}, which Reprise cannot read. Write it without filters`);
  const type = isText ? TEXT : typeOfNumpy(values.dtype, fault);
  if (names.length > 0 && type.stored !== undefined)
    throw fault.unsupported(`has filters for ${type.dtype}, which Reprise cannot read. Write it without filters`);
  const compressor =
    values.compressor === null || values.compressor === undefined ? undefined : objectOf(values.compressor, fault, "has a compressor that is not an object").id;
  const codec = compressor === undefined ? undefined : compressorOf(compressor, fault);
  const stored = type.stored === undefined ? values.dtype : `${String(values.dtype)[0] === ">" ? ">" : type.stored.order}${type.stored.numpy}`;
  return {
    version: 2,
    shape,
    chunks,
    dtype: type.dtype,
    memoryBytes: type.memoryBytes,
    chunkBytes: { compressor: codec, decompressed: type.bytes === undefined ? undefined : type.bytes * sizeOf(chunks), behind: 0 },
    json: { ...values, dtype: stored, fill_value: fillOf(values.fill_value, type, fault) },
  };
}

function ofVersion3(values: Values, fault: Fault): ArrayMetadata {
  if (values.zarr_format !== 3 || values.node_type !== "array") throw fault.corrupt("is not an array of Zarr 2 or 3");
  const shape = dimensions(values.shape, 0, fault, "shape");
  const grid = objectOf(values.chunk_grid, fault, "has no chunk_grid");
  if (grid.name !== "regular") throw fault.unsupported(`has the chunk grid ${JSON.stringify(grid.name)}, but Reprise reads only regular grids`);
  const outer = dimensions(objectOf(grid.configuration, fault, "has no chunk_shape").chunk_shape, 1, fault, "chunk_shape");
  if (outer.length !== shape.length) throw fault.corrupt(`has ${shape.length} dimensions, but its chunks have ${outer.length}`);
  const type = typeOfName(values.data_type, fault);
  const codecs = codecsOf(values.codecs, fault);
  const sharding = codecs.find(({ name }) => name === "sharding_indexed");
  const json = { ...values, data_type: type.stored?.name ?? values.data_type, fill_value: fillOf(values.fill_value, type, fault) };
  const base = { version: 3 as const, shape, dtype: type.dtype, memoryBytes: type.memoryBytes, json };
  if (sharding === undefined) return { ...base, chunks: outer, chunkBytes: chunkBytesOf(codecs, type.bytes, outer, fault) };
  if (codecs.length !== 1) throw fault.unsupported("has codecs around its shards, which Reprise cannot read");
  const chunks = dimensions(sharding.configuration.chunk_shape, 1, fault, "chunk_shape");
  if (chunks.length !== outer.length || chunks.some((n, i) => (outer[i] as number) % n !== 0))
    throw fault.corrupt(`has shards of [${outer.join(", ")}], which are not a multiple of its chunks of [${chunks.join(", ")}]`);
  const index = codecsOf(sharding.configuration.index_codecs, fault).map(({ name }) => name);
  if (index[0] !== "bytes" || index.slice(1).some((name) => name !== "crc32c"))
    throw fault.unsupported("has shards with a compressed index, which Reprise cannot read");
  if ((sharding.configuration.index_location ?? "end") !== "end") throw fault.unsupported("has shards that begin with their index, which Reprise cannot read");
  const indexBytes = 16 * (sizeOf(outer) / sizeOf(chunks)) + 4 * (index.length - 1);
  return { ...base, chunks, shards: outer, indexBytes, chunkBytes: chunkBytesOf(codecsOf(sharding.configuration.codecs, fault), type.bytes, chunks, fault) };
}

interface Codec {
  readonly name: string;
  readonly configuration: Values;
}

function codecsOf(value: unknown, fault: Fault): Codec[] {
  return listOf(value, fault, "codecs").map((codec) => {
    if (typeof codec === "string") return { name: codec, configuration: {} };
    const { name, configuration } = objectOf(codec, fault, "has a codec that is not an object");
    return { name: String(name), configuration: configuration === undefined ? {} : objectOf(configuration, fault, "has a codec with a damaged configuration") };
  });
}

function chunkBytesOf(codecs: readonly Codec[], elementBytes: number | undefined, chunks: readonly number[], fault: Fault): ChunkBytes {
  let compressor: Compressor | undefined;
  let before = 0;
  let behind = 0;
  for (const { name } of codecs) {
    if (name === "bytes" || name === "transpose" || name === "vlen-utf8") continue;
    if (name === "crc32c") {
      if (compressor === undefined) before += 4;
      else behind += 4;
    } else if (compressor === undefined) compressor = compressorOf(name, fault);
    else throw fault.unsupported(`is compressed with both ${compressor} and ${name}, which Reprise cannot read`);
  }
  return { compressor, decompressed: elementBytes === undefined ? undefined : elementBytes * sizeOf(chunks) + before, behind };
}

function compressorOf(name: unknown, fault: Fault): Compressor {
  if (typeof name === "string" && COMPRESSORS.includes(name)) return name as Compressor;
  throw fault.unsupported(`is compressed with ${JSON.stringify(name)}, which Reprise cannot read. Write it with Blosc, zstd or gzip`);
}

interface ElementType {
  readonly dtype: StepLeaf["dtype"];
  /** The size of an element in a file, in bytes. Undefined for texts of variable length. */
  readonly bytes: number | undefined;
  readonly memoryBytes: number;
  /** The type that zarrita reads instead of this type. */
  readonly stored?: { readonly numpy: string; readonly order: string; readonly name: string };
}

const TEXT: ElementType = { dtype: "string", bytes: undefined, memoryBytes: STRING };
const BOOL: ElementType = { dtype: "bool", bytes: 1, memoryBytes: 1, stored: { numpy: "u1", order: "|", name: "uint8" } };
// zarrita reads f16 as u16, because not all supported runtimes have arrays of f16.
const HALF: ElementType = { dtype: "f16", bytes: 2, memoryBytes: 4, stored: { numpy: "u2", order: "<", name: "uint16" } };

function typeOfNumpy(descr: unknown, fault: Fault): ElementType {
  const [, kind = "", digits] = (typeof descr === "string" && /^[<>|]([a-zA-Z])(\d{1,6})$/.exec(descr)) || [];
  const n = Number(digits);
  if (kind === "b" && n === 1) return BOOL;
  if (kind === "f" && n === 2) return HALF;
  if (kind === "U" && n > 0) return { dtype: "string", bytes: 4 * n, memoryBytes: STRING + 4 * n };
  if (kind === "S" && n > 0) return { dtype: "string", bytes: n, memoryBytes: STRING + 2 * n };
  const dtype = `${kind}${8 * n}`;
  if (isDtype(dtype) && "iuf".includes(kind)) return { dtype, bytes: n, memoryBytes: n };
  throw fault.unsupported(`contains elements of the type ${JSON.stringify(descr)}, which a leaf cannot store`);
}

function typeOfName(name: unknown, fault: Fault): ElementType {
  if (name === "bool") return BOOL;
  if (name === "float16") return HALF;
  if (name === "string") return TEXT;
  const [, kind = "", bits] = (typeof name === "string" && /^(int|uint|float)(\d{1,2})$/.exec(name)) || [];
  const dtype = `${kind[0]}${bits}`;
  if (isDtype(dtype)) return { dtype, bytes: Number(bits) / 8, memoryBytes: Number(bits) / 8 };
  throw fault.unsupported(`contains elements of the type ${JSON.stringify(name)}, which a leaf cannot store`);
}

/** Returns the fill value of missing chunks, as JSON for zarrita. */
function fillOf(value: unknown, { dtype, stored }: ElementType, fault: Fault): unknown {
  const invalid = () => fault.unsupported(`has the fill_value ${JSON.stringify(value)}, which Reprise cannot read`);
  if (dtype === "string") return value === null || value === 0 || value === undefined ? "" : value;
  if (dtype === "bool") return value === true || value === 1 ? 1 : 0;
  const number = value === null || value === undefined ? 0 : value;
  const isWord = typeof number === "string" && /^(NaN|-?Infinity)$/.test(number);
  const isFloat = dtype.startsWith("f");
  if (typeof number === "bigint" ? isFloat : !(isWord ? isFloat : Number.isFinite(number) && typeof number === "number")) throw invalid();
  if (!isFloat && !Number.isInteger(number) && typeof number !== "bigint") throw invalid();
  if (dtype === "i64" || dtype === "u64") return String(number);
  if (stored !== undefined) return narrowHalves("f16", Float32Array.of(Number(number)))[0];
  return typeof number === "bigint" ? Number(number) : number;
}

function objectOf(value: unknown, fault: Fault, what: string): Values {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw fault.corrupt(what);
  return value as Values;
}

function listOf(value: unknown, fault: Fault, what: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length > MAX_DIMENSIONS) throw fault.corrupt(`has metadata in which ${what} is not a list`);
  return value;
}

function dimensions(value: unknown, least: number, fault: Fault, what: string): number[] {
  const list = listOf(value, fault, what);
  if (!list.every((n) => Number.isSafeInteger(n) && (n as number) >= least)) throw fault.corrupt(`has metadata in which ${what} is not a list of sizes`);
  return list as number[];
}
