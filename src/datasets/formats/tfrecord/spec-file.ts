/** Reads the spec file of a TFRecord file, which contains one record with a StructuredValue of TensorFlow. */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { MAX_LEAVES, MAX_NEST_DEPTH } from "../../../base/limits.ts";
import { setPart } from "../../../schema/nest.ts";
import type { Spec } from "../../../schema/spec.ts";
import { corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { SourceFile } from "../sources/source.ts";
import { TfRecords } from "../tfds/tfrecord.ts";
import { DATA_TYPES, featureLeaves } from "./features.ts";
import { type Candidates, candidatesIn, namedTupleCalled, WHOLE } from "./named-tuples.ts";
import { BOUNDED_TENSOR_SPEC, DICT, LIST, NAMED_TUPLE, NONE, TENSOR_SPEC, TUPLE } from "./structured-value.ts";

const DTYPE_BY_NUMBER = new Map([...DATA_TYPES].map(([dtype, number]) => [number, dtype]));

/**
 * Reads the spec in a file and closes the file. Named tuples become objects. In named tuples of TF-Agents, the fields receive the names of Reprise, such as
 * `stepType`.
 * @throws RldsError CORRUPT if the file is damaged · UNSUPPORTED if the spec has parts that are not tensors of known shape
 */
export async function readSpecFile(file: SourceFile, maxBytes: number): Promise<Spec> {
  const records = new TfRecords(file, { maxBytes });
  try {
    const bytes = await records.next();
    const spec = new StructureReader(bytes, file.name).read();
    try {
      featureLeaves(spec, "the spec");
    } catch (cause) {
      throw unsupportedFile({ file: file.name }, (cause as Error).message, cause);
    }
    return spec;
  } finally {
    await records.close();
  }
}

class StructureReader {
  readonly #bytes: Uint8Array;
  readonly #file: string;
  #nodes = 0;
  /** The type names of the objects that are named tuples in the file. */
  readonly #tupleNames = new Map<Spec, string>();

  constructor(bytes: Uint8Array, file: string) {
    this.#bytes = bytes;
    this.#file = file;
  }

  read(): Spec {
    try {
      return this.#renamed(this.#structure(0, this.#bytes.length, 0), WHOLE);
    } catch (cause) {
      if (cause instanceof RldsError) throw cause;
      throw this.#corrupt(`the spec is not a StructuredValue: ${(cause as Error).message}`, cause);
    }
  }

  #structure(from: number, to: number, depth: number): Spec {
    if (depth > MAX_NEST_DEPTH) throw this.#corrupt(`the spec is nested more than ${MAX_NEST_DEPTH} levels deep`);
    if (++this.#nodes > 2 * MAX_LEAVES) throw this.#corrupt(`the spec has more than ${2 * MAX_LEAVES} parts`);
    let spec: Spec | undefined;
    let other = NONE;
    this.#fields(from, to, (field, begin, end) => {
      if (field === TENSOR_SPEC || field === BOUNDED_TENSOR_SPEC) spec = this.#leaf(begin, end);
      else if (field === LIST || field === TUPLE) {
        const parts: Spec[] = [];
        this.#fields(begin, end, (part, partBegin, partEnd) => void (part === 1 && parts.push(this.#structure(partBegin, partEnd, depth + 1))));
        spec = parts;
      } else if (field === DICT || field === NAMED_TUPLE) spec = this.#node(begin, end, field === DICT ? 1 : 2, depth);
      else {
        other = field;
        spec = undefined;
      }
    });
    if (spec !== undefined) return spec;
    throw unsupportedFile({ file: this.#file }, `the spec has a part that is not a TensorSpec (field ${other} of StructuredValue)`);
  }

  #node(from: number, to: number, pairs: number, depth: number): Spec {
    const isNamedTuple = pairs === 2;
    const parts: [string, Spec][] = [];
    let tuple = "";
    this.#fields(from, to, (field, begin, end) => {
      if (isNamedTuple && field === 1) tuple = this.#text(begin, end);
      if (field !== pairs) return;
      let name = "";
      let part: Spec | undefined;
      this.#fields(begin, end, (inner, innerBegin, innerEnd) => {
        if (inner === 1) name = this.#text(innerBegin, innerEnd);
        else if (inner === 2) part = this.#structure(innerBegin, innerEnd, depth + 1);
      });
      if (part === undefined) throw this.#corrupt(`the spec has no value for ${JSON.stringify(name)}`);
      parts.push([name, part]);
    });
    const node = {};
    for (const [name, part] of parts) setPart(node, name, part);
    if (isNamedTuple) this.#tupleNames.set(node as Spec, tuple);
    return node as Spec;
  }

  /** Returns a named tuple of TF-Agents with the field names of Reprise. */
  #renamed(spec: Spec, candidates: Candidates): Spec {
    const tupleName = candidates.length === 0 ? undefined : this.#tupleNames.get(spec);
    if (tupleName === undefined) return spec;
    const tuple = namedTupleCalled(tupleName, Object.keys(spec), candidates);
    if (tuple === undefined) return spec;
    const node = {};
    for (const [name, field] of tuple.fields)
      setPart(node, name, this.#renamed((spec as { readonly [name: string]: Spec })[field] as Spec, candidatesIn(tuple, name)));
    return node as Spec;
  }

  /** Parses a TensorSpecProto, or a BoundedTensorSpecProto without its bounds. */
  #leaf(from: number, to: number): Spec {
    let number = 0;
    const shape: number[] = [];
    let isUnknown = false;
    this.#fields(
      from,
      to,
      (field, begin, end) => {
        if (field !== 2) return;
        this.#fields(
          begin,
          end,
          (inner, dimBegin, dimEnd) => {
            if (inner !== 2) return;
            let size = 0;
            this.#fields(
              dimBegin,
              dimEnd,
              () => {},
              (dimField, value) => {
                if (dimField === 1) size = value;
              },
            );
            if (shape.push(size) > MAX_LEAVES) throw this.#corrupt(`a shape has more than ${MAX_LEAVES} dimensions`);
          },
          (inner, value) => {
            if (inner === 3) isUnknown = value !== 0;
          },
        );
      },
      (field, value) => {
        if (field === 3) number = value;
      },
    );
    const dtype = DTYPE_BY_NUMBER.get(number);
    if (dtype === undefined) throw unsupportedFile({ file: this.#file }, `the spec has the TensorFlow data type ${number}, which Reprise cannot read`);
    if (isUnknown || shape.some((n) => !(n > 0)))
      throw unsupportedFile({ file: this.#file }, `the spec has the shape [${isUnknown ? "?" : shape.join(", ")}], which is not fully defined`);
    return { dtype, shape };
  }

  /** Visits the length-delimited fields and the numbers in the message at `from` … `to`. */
  #fields(from: number, to: number, onMessage: (field: number, from: number, to: number) => void, onNumber?: (field: number, value: number) => void): void {
    const reader = new BinaryReader(this.#bytes.subarray(0, to));
    reader.pos = from;
    while (reader.pos < to) {
      const [field, wire] = reader.tag();
      if (wire === WireType.LengthDelimited) {
        const length = reader.uint32();
        const end = reader.pos + length;
        if (end > to) throw this.#corrupt(`the spec declares ${length} bytes, but only ${to - reader.pos} follow`);
        onMessage(field, reader.pos, end);
        reader.pos = end;
      } else if (wire === WireType.Varint && onNumber !== undefined) onNumber(field, Number(reader.int64()));
      else reader.skip(wire, field);
    }
  }

  #text(from: number, to: number): string {
    return new TextDecoder("utf-8", { fatal: true }).decode(this.#bytes.subarray(from, to));
  }

  #corrupt(message: string, cause?: unknown): RldsError {
    return corruptFile({ file: this.#file }, message, cause);
  }
}
