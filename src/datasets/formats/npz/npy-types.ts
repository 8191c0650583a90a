/** Maps NumPy's type names to element types. */
import { dataView } from "../../../base/bytes.ts";
import { DTYPES, isDtype } from "../../../schema/dtype.ts";
import { widenHalves } from "../../../schema/half.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { utf8, withoutTail } from "../utf8.ts";

export interface ElementType {
  readonly dtype: StepLeaf["dtype"];
  /** The size of an element, in bytes. `unit` is the size of the unit within which the byte order applies, such as one character of a text. */
  readonly bytes: number;
  readonly unit: number;
  readonly big: boolean;
  /** The approximate size of an element in memory, in bytes. */
  readonly memoryBytes: number;
  /** Decodes little-endian bytes that take up the whole of their buffer. */
  decode(bytes: Uint8Array<ArrayBuffer>, corrupt: (what: string) => RldsError): ColumnData;
}

/** The error for an array whose elements cannot be a leaf of a step. The rest of the archive can still be read. */
export class ElementTypeError extends RldsError {
  constructor(file: string, message: string) {
    super("UNSUPPORTED", message, { file });
  }
}

/** The approximate overhead of a string in memory, in bytes. */
const STRING = 24;

/** Returns the element type for a NumPy type name. @param descr the name, for example `<f4` @throws RldsError UNSUPPORTED if Reprise cannot read the type */
export function typeOf(descr: string, file: string, name: string): ElementType {
  const [, order, kind, digits] = /^([<>|=])?([a-zA-Z?])(\d{1,9})?$/.exec(descr) ?? [];
  const n = Number(digits);
  const base = { bytes: n, unit: n, big: order === ">", memoryBytes: n };
  if ((kind === "b" && n === 1) || kind === "?") return { ...base, bytes: 1, unit: 1, memoryBytes: 1, dtype: "bool", decode: bools };
  if (kind === "f" && n === 2) return { ...base, memoryBytes: 4, dtype: "f16", decode: (bytes) => widenHalves("f16", new Uint16Array(bytes.buffer)) };
  if ((kind === "S" || kind === "a") && n > 0)
    return { ...base, unit: 1, memoryBytes: STRING + 2 * n, dtype: "string", decode: (bytes) => texts(bytes, n, (part) => utf8(part, name, file)) };
  if (kind === "U" && n > 0)
    return { bytes: 4 * n, unit: 4, big: order === ">", memoryBytes: STRING + 4 * n, dtype: "string", decode: (bytes) => texts(bytes, 4 * n, utf32) };
  const dtype = `${kind}${8 * n}`;
  if (kind !== undefined && "iuf".includes(kind) && isDtype(dtype))
    return { ...base, dtype, decode: (bytes) => new DTYPES[dtype].array(bytes.buffer, bytes.byteOffset, bytes.length / n) };
  const content = kind === "O" ? "Python objects" : `elements of the type ${JSON.stringify(descr)}`;
  throw new ElementTypeError(file, `${name} contains ${content}, which Reprise cannot read`);
}

function bools(bytes: Uint8Array, corrupt: (what: string) => RldsError): Uint8Array {
  const invalid = bytes.find((byte) => byte > 1);
  if (invalid !== undefined) throw corrupt(`must contain booleans (0 or 1), got ${invalid}`);
  return bytes;
}

/** Decodes texts of fixed width, which are padded with zeros. */
function texts(bytes: Uint8Array, width: number, decode: (bytes: Uint8Array) => string): string[] {
  return Array.from({ length: bytes.length / width }, (_, i) => withoutTail(decode(bytes.subarray(i * width, (i + 1) * width)), "\0"));
}

function utf32(bytes: Uint8Array): string {
  const view = dataView(bytes);
  let text = "";
  for (let i = 0; i < bytes.length; i += 4) {
    const point = view.getUint32(i, true);
    text += point > 0x10ffff ? "\ufffd" : String.fromCodePoint(point);
  }
  return text;
}
