/** Reads nested structures of specs: the StructuredValue messages of TensorFlow, which describe signatures. */
import { MAX_NEST_DEPTH } from "../../base/limits.ts";
import { type BytesReader, DELIMITED, VARINT } from "./bytes-reader.ts";
import { readShape, type ShapeMessage } from "./tensor.ts";

export type Structure =
  | { readonly kind: "spec"; readonly name: string; readonly dtype: number; readonly shape: ShapeMessage }
  | { readonly kind: "list" | "tuple"; readonly parts: readonly Structure[] }
  /** The order of a dict's keys is arbitrary. */
  | { readonly kind: "dict"; readonly parts: readonly (readonly [string, Structure])[] }
  | { readonly kind: "namedTuple"; readonly name: string; readonly parts: readonly (readonly [string, Structure])[] }
  | { readonly kind: "none" }
  /** Any other kind, with the number of its field. */
  | { readonly kind: "other"; readonly field: number };

const NO_STRUCTURE: Structure = { kind: "none" };

export function readStructure(reader: BytesReader, depth = 0): Structure {
  if (depth > MAX_NEST_DEPTH) throw reader.corruptError(`a signature is nested more than ${MAX_NEST_DEPTH} levels deep`);
  const outer = reader.enter();
  let structure: Structure = NO_STRUCTURE;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    const field = tag >>> 3;
    if (tag === 33 * 8 + DELIMITED || tag === 35 * 8 + DELIMITED) structure = readSpec(reader);
    else if (tag === 51 * 8 + DELIMITED || tag === 52 * 8 + DELIMITED) structure = readList(reader, field === 51 ? "list" : "tuple", depth);
    else if (tag === 53 * 8 + DELIMITED) structure = readDict(reader, depth);
    else if (tag === 54 * 8 + DELIMITED) structure = readNamedTuple(reader, depth);
    else {
      reader.skip(tag);
      structure = field === 1 ? NO_STRUCTURE : { kind: "other", field };
    }
  }
  reader.leaveMessage(outer);
  return structure;
}

/** Reads TensorSpecProto, and BoundedTensorSpecProto without its bounds. */
function readSpec(reader: BytesReader): Structure {
  const outer = reader.enter();
  let name = "";
  let dtype = 0;
  let shape: ShapeMessage = { dims: [], unknownRank: false };
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) name = reader.string();
    else if (tag === 2 * 8 + DELIMITED) shape = readShape(reader);
    else if (tag === 3 * 8 + VARINT) dtype = reader.int32();
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { kind: "spec", name, dtype, shape };
}

function readList(reader: BytesReader, kind: "list" | "tuple", depth: number): Structure {
  const outer = reader.enter();
  const parts: Structure[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) parts.push(readStructure(reader, depth + 1));
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { kind, parts };
}

/** Reads a map; if a key occurs twice, the last value counts. */
function readDict(reader: BytesReader, depth: number): Structure {
  const outer = reader.enter();
  const parts = new Map<string, Structure>();
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) parts.set(...readPair(reader, depth));
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { kind: "dict", parts: [...parts] };
}

function readNamedTuple(reader: BytesReader, depth: number): Structure {
  const outer = reader.enter();
  const parts: (readonly [string, Structure])[] = [];
  let name = "";
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) name = reader.string();
    else if (tag === 2 * 8 + DELIMITED) parts.push(readPair(reader, depth));
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return { kind: "namedTuple", name, parts };
}

function readPair(reader: BytesReader, depth: number): [string, Structure] {
  const outer = reader.enter();
  let key = "";
  let value = NO_STRUCTURE;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 1 * 8 + DELIMITED) key = reader.string();
    else if (tag === 2 * 8 + DELIMITED) value = readStructure(reader, depth + 1);
    else reader.skip(tag);
  }
  reader.leaveMessage(outer);
  return [key, value];
}
