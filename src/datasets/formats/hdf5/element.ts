/** Maps the element types of HDF5 datasets to leaves, and the bytes of elements to values. */
import type { Metadata } from "h5wasm";
import { DTYPES, isDtype } from "../../../schema/dtype.ts";
import { widenHalves } from "../../../schema/half.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { utf8, withoutTail } from "../utf8.ts";
import type { Library } from "./h5wasm.ts";

/** The classes of HDF5 types, by number. */
const CLASSES = ["integer", "float", "time", "string", "bitfield", "opaque", "compound", "reference", "enum", "variable length", "array"];

/** Describes how the elements of an HDF5 type are read. */
export interface Element {
  readonly dtype: StepLeaf["dtype"];
  /** The dimensions of an array type, which come after the dimensions of the dataset. */
  readonly shape: readonly number[];
  /** The number of bytes per element as HDF5 returns it. For elements of variable length, this is the size of a pointer, or of a length and a pointer. */
  readonly bytes: number;
  /** Whether HDF5 allocates additional memory for each element, which must be freed after reading. */
  readonly allocates: boolean;
  /** Whether `decode` returns an array of numbers, which may be a view of the bytes. */
  readonly isNumeric?: boolean;
  decode(bytes: Uint8Array<ArrayBuffer>, library: Library): ColumnData;
}

/** Returns the element of an HDF5 type. @throws RldsError UNSUPPORTED if the type cannot be a leaf */
export function elementOf(type: Metadata, file: string, path: string): Element {
  const kind = CLASSES[type.type];
  const base = { shape: [], bytes: type.size, allocates: false };
  const decodeText = (bytes: Uint8Array) => utf8(bytes, path, file);
  const unsupported = (content: string) => unsupportedFile({ file }, `${path} contains ${content}, which Reprise cannot read`);
  if (kind === "string" && type.vlen)
    return { ...base, dtype: "string", allocates: true, decode: (bytes, library) => pointedTexts(bytes, library, decodeText) };
  if (kind === "string") return { ...base, dtype: "string", decode: (bytes) => fixedTexts(bytes, type, decodeText) };
  if (kind === "variable length" && type.vlen_type?.type === 0 && type.vlen_type.size === 1)
    return { ...base, dtype: "bytes", allocates: true, decode: pointedBytes };
  // The library swaps the bytes of big-endian numbers, but not of big-endian enums.
  if (kind === "enum" && type.enum_type?.type === 0 && type.size > 1 && !type.littleEndian) {
    const turned = elementOf({ ...type, littleEndian: true }, file, path);
    return { ...turned, decode: (bytes, library) => turned.decode(reversed(bytes, type.size), library) };
  }
  if (kind === "enum" && isBool(type)) return { ...base, dtype: "bool", isNumeric: true, decode: (bytes) => bools(bytes, file, path) };
  if (kind === "float" && type.size === 2) return { ...base, dtype: "f16", isNumeric: true, decode: (bytes) => widenHalves("f16", halves(bytes)) };
  if (kind === "integer" || kind === "float" || (kind === "enum" && type.enum_type?.type === 0)) {
    const dtype = `${kind === "float" ? "f" : type.signed ? "i" : "u"}${8 * type.size}`;
    if (!isDtype(dtype)) throw unsupported(`${kind}s of ${type.size} bytes`);
    return { ...base, dtype, isNumeric: true, decode: (bytes) => new DTYPES[dtype].array(bytes.buffer, bytes.byteOffset, bytes.length / type.size) };
  }
  if (kind === "array" && type.array_type !== undefined && type.array_type.type !== 10) {
    const inner = elementOf(type.array_type, file, path);
    if (!inner.allocates) return { ...inner, shape: type.array_type.shape ?? [], bytes: type.size };
  }
  throw unsupported(`elements of type ${kind ?? type.type}`);
}

const halves = ({ buffer, byteOffset, length }: Uint8Array) => new Uint16Array(buffer, byteOffset, length / 2);

function reversed(bytes: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer> {
  for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
  return bytes;
}

/** Returns whether a type is the enum that h5py uses for NumPy booleans. */
function isBool({ size, enum_type }: Metadata): boolean {
  const members = enum_type?.members ?? {};
  return size === 1 && Object.keys(members).length === 2 && members.FALSE === 0 && members.TRUE === 1;
}

function bools(bytes: Uint8Array, file: string, path: string): Uint8Array {
  const invalid = bytes.findIndex((byte) => byte > 1);
  if (invalid >= 0) throw corruptFile({ file }, `${path} must contain booleans (0 or 1), got ${bytes[invalid]}`);
  return bytes;
}

/** Decodes texts of fixed width, which end with a NUL or are padded with NULs or spaces. */
function fixedTexts(bytes: Uint8Array, { size, strpad }: Metadata, decodeText: (bytes: Uint8Array) => string): string[] {
  return Array.from({ length: bytes.length / size }, (_, i) => {
    const text = bytes.subarray(i * size, (i + 1) * size);
    if (strpad === 2) return withoutTail(decodeText(text), " ");
    const end = text.indexOf(0);
    return decodeText(end < 0 ? text : text.subarray(0, end));
  });
}

function pointedTexts(bytes: Uint8Array<ArrayBuffer>, { HEAPU8 }: Library, decodeText: (bytes: Uint8Array) => string): string[] {
  return Array.from(new Uint32Array(bytes.buffer), (at) => (at === 0 ? "" : decodeText(HEAPU8.subarray(at, HEAPU8.indexOf(0, at)))));
}

/** Decodes elements that consist of a length and a pointer into the memory of the library. */
function pointedBytes(bytes: Uint8Array<ArrayBuffer>, library: Library): Uint8Array[] {
  const words = new Uint32Array(bytes.buffer);
  return Array.from({ length: words.length / 2 }, (_, i) => {
    const at = words[2 * i + 1] as number;
    return library.HEAPU8.slice(at, at + (words[2 * i] as number));
  });
}
