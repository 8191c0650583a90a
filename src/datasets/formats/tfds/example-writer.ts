/** Encodes one episode as a tf.train.Example, which is a map from names to lists of int64, float or bytes. */
import { isFloat } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { EncodePng } from "../images/png-encoder.ts";
import type { OutputLeaf } from "./feature-config.ts";
import { MessageParts } from "./message-parts.ts";

export interface OutputColumn {
  readonly name: string;
  readonly leaf: OutputLeaf;
  readonly data: ColumnData;
  /** The number of values, which is the number of steps, or 1 for metadata. */
  readonly length: number;
}

/** The field numbers of tf.train.Feature. */
const BYTES_LIST = 1;
const FLOAT_LIST = 2;
const INT64_LIST = 3;
const VALUE = 1;

const encoder = new TextEncoder();

/** Returns the parts of an Example. Large parts are views of the columns. Names are sorted, so the same episode produces the same bytes. */
export function exampleOf(columns: readonly OutputColumn[], encodePng: EncodePng): readonly Uint8Array[] {
  const features = new MessageParts();
  for (const column of [...columns].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const entry = new MessageParts();
    entry.field(1, encoder.encode(column.name));
    entry.message(2, featureOf(column, encodePng));
    features.message(1, entry);
  }
  const example = new MessageParts();
  example.message(1, features);
  return example.parts;
}

function featureOf(column: OutputColumn, encodePng: EncodePng): MessageParts {
  const { leaf, data, length } = column;
  const feature = new MessageParts();
  if (leaf.encoding !== "none") {
    const list = new MessageParts(length * leaf.size * (isText(leaf.leaf) ? 16 : 8));
    for (const bytes of values(leaf, data, length, encodePng)) list.field(VALUE, bytes);
    feature.message(BYTES_LIST, list);
    return feature;
  }
  const isFloats = isFloat(leaf.leaf.dtype);
  const list = new MessageParts();
  if (isFloats && data.length > 0) list.field(VALUE, floats(data as Float32Array));
  else if (data.length > 0) {
    const packed = new MessageParts(data.length * 2);
    packed.varints(data as Int32Array | BigInt64Array);
    list.message(VALUE, packed);
  }
  feature.message(isFloats ? FLOAT_LIST : INT64_LIST, list);
  return feature;
}

function* values({ encoding, leaf, size }: OutputLeaf, data: ColumnData, length: number, encodePng: EncodePng): Generator<Uint8Array, void> {
  if (encoding === "text") {
    for (const value of data as readonly (string | Uint8Array)[]) yield typeof value === "string" ? encoder.encode(value) : value;
    return;
  }
  const column = data as Float64Array;
  for (let i = 0; i < length; i++) {
    const value = column.subarray(i * size, (i + 1) * size);
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    yield encoding === "png" ? encodePng(bytes, leaf.shape[1] as number, leaf.shape[0] as number, leaf.shape[2] as number) : bytes;
  }
}

/** Returns floats as little-endian bytes. The memory of every platform that runs Reprise is little-endian. */
function floats(data: Float32Array): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
