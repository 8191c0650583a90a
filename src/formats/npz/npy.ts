/** NumPy's arrays as files (.npy): a header, and the elements. Its objects are pickles, which nobody here runs. */
import type { StepLeaf } from "../../rlds/dataset/dataset.ts";
import { RldsError } from "../../rlds/dataset/rlds-error.ts";
import type { ColumnData } from "../../rlds/dataset/step-columns.ts";
import { DTYPES, isDtype } from "../../spec/dtype.ts";
import { sizeOf } from "../../spec/leaf.ts";
import { fromHalves } from "../half.ts";
import { utf8 } from "../utf8.ts";

export interface NpyArray {
  readonly dtype: StepLeaf["dtype"];
  readonly shape: readonly number[];
  /** In C's order, little-endian. */
  readonly data: ColumnData;
}

const MAGIC = "\x93NUMPY";
const MAX_HEADER = 65536;
/** `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, in any order. */
const DESCR = /['"]descr['"]\s*:\s*(?:'([^'"\\]*)'|"([^'"\\]*)"|(\[))/;
const FORTRAN = /['"]fortran_order['"]\s*:\s*(True|False)/;
const SHAPE = /['"]shape['"]\s*:\s*\(((?:\s*\d{1,15}L?\s*,?)*)\)/;

/** @param name as messages call it @throws RldsError CORRUPT, UNSUPPORTED for objects, structures, complex numbers, dates */
export function npyArray(bytes: Uint8Array<ArrayBuffer>, file: string, name: string): NpyArray {
  const corrupt = (what: string) => new RldsError("CORRUPT", `${name} ${what}`, { file });
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < 12 || latin1(bytes.subarray(0, 6)) !== MAGIC) throw corrupt("is no array of NumPy's: it begins otherwise");
  const version = bytes[6] as number;
  if (version < 1 || version > 3) throw new RldsError("UNSUPPORTED", `${name} has .npy version ${version}; only 1 … 3 can be read`, { file });
  const begin = version === 1 ? 10 : 12;
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > MAX_HEADER || begin + length > bytes.length) throw corrupt(`has a header of ${length} bytes, which cannot be`);
  const header = latin1(bytes.subarray(begin, begin + length));
  const described = DESCR.exec(header);
  const fortran = FORTRAN.exec(header)?.[1];
  const dimensions = SHAPE.exec(header)?.[1];
  if (described === null || fortran === undefined || dimensions === undefined)
    throw corrupt(`has a header that is none: ${JSON.stringify(header.slice(0, 80))}`);
  if (described[3] !== undefined) throw new RldsError("UNSUPPORTED", `${name} has elements with several fields, which cannot be a leaf of a step`, { file });
  const shape = [...dimensions.matchAll(/\d+/g)].map(Number);
  const type = typeOf(described[1] ?? described[2] ?? "", file, name);
  const wanted = sizeOf(shape) * type.bytes;
  const body = bytes.slice(begin + length);
  if (body.length !== wanted) throw corrupt(`has ${body.length} bytes of elements, and ${wanted} would fit its shape (${shape.join(", ")})`);
  if (type.big) reverse(body, type.unit);
  const ordered = fortran === "True" && shape.length > 1 ? rowMajor(body, shape, type.bytes) : body;
  return { dtype: type.dtype, shape, data: type.decode(ordered, corrupt) };
}

interface ElementType {
  readonly dtype: StepLeaf["dtype"];
  /** Of an element, and of what in it has an order of bytes. */
  readonly bytes: number;
  readonly unit: number;
  readonly big: boolean;
  decode(bytes: Uint8Array<ArrayBuffer>, corrupt: (what: string) => RldsError): ColumnData;
}

function typeOf(descr: string, file: string, name: string): ElementType {
  const [, order, kind, digits] = /^([<>|=])?([a-zA-Z?])(\d{1,9})?$/.exec(descr) ?? [];
  const n = Number(digits);
  const base = { bytes: n, unit: n, big: order === ">" };
  if ((kind === "b" && n === 1) || kind === "?") return { ...base, bytes: 1, unit: 1, dtype: "bool", decode: bools };
  if (kind === "f" && n === 2) return { ...base, dtype: "f32", decode: (bytes) => fromHalves(new Uint16Array(bytes.buffer)) };
  if ((kind === "S" || kind === "a") && n > 0)
    return { ...base, unit: 1, dtype: "string", decode: (bytes) => texts(bytes, n, (part) => utf8(part, name, file)) };
  if (kind === "U" && n > 0) return { bytes: 4 * n, unit: 4, big: order === ">", dtype: "string", decode: (bytes) => texts(bytes, 4 * n, utf32) };
  const dtype = `${kind}${8 * n}`;
  if (kind !== undefined && "iuf".includes(kind) && isDtype(dtype))
    return { ...base, dtype, decode: (bytes) => new DTYPES[dtype].array(bytes.buffer, bytes.byteOffset, bytes.length / n) };
  const what = kind === "O" ? "Python objects, which are not loaded" : `elements of the type ${JSON.stringify(descr)}`;
  throw new RldsError("UNSUPPORTED", `${name} holds ${what}`, { file });
}

function bools(bytes: Uint8Array, corrupt: (what: string) => RldsError): Uint8Array {
  const wrong = bytes.find((byte) => byte > 1);
  if (wrong !== undefined) throw corrupt(`is of booleans, and has a ${wrong}`);
  return bytes;
}

/** Elements of the same width, filled up with zeros. */
function texts(bytes: Uint8Array, width: number, decode: (bytes: Uint8Array) => string): string[] {
  return Array.from({ length: bytes.length / width }, (_, i) => decode(bytes.subarray(i * width, (i + 1) * width)).replace(/\0+$/, ""));
}

function utf32(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let text = "";
  for (let i = 0; i < bytes.length; i += 4) {
    const point = view.getUint32(i, true);
    text += point > 0x10ffff ? "\ufffd" : String.fromCodePoint(point);
  }
  return text;
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

function reverse(bytes: Uint8Array, unit: number): void {
  for (let i = 0; unit > 1 && i < bytes.length; i += unit) bytes.subarray(i, i + unit).reverse();
}

/** From Fortran's order, first index fastest, to C's. */
function rowMajor(bytes: Uint8Array, shape: readonly number[], width: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(bytes.length);
  const index = shape.map(() => 0);
  const strides: number[] = [];
  shape.reduce((stride, n) => {
    strides.push(stride);
    return stride * n;
  }, width);
  let from = 0;
  for (let to = 0; to < out.length; to += width) {
    for (let b = 0; b < width; b++) out[to + b] = bytes[from + b] as number;
    for (let d = shape.length - 1; d >= 0; d--) {
      from += strides[d] as number;
      index[d] = (index[d] as number) + 1;
      if ((index[d] as number) < (shape[d] as number)) break;
      from -= (index[d] as number) * (strides[d] as number);
      index[d] = 0;
    }
  }
  return out;
}
