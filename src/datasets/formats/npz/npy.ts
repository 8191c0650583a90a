/** Reads NumPy array files (.npy), which have a header and elements. Objects are pickles and are never loaded. */
import { concat, dataView } from "../../../base/bytes.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { corruptFile, type RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { MemoryBudget } from "../memory-budget.ts";
import { Elements } from "./elements.ts";
import { type ElementType, ElementTypeError, typeOf } from "./npy-types.ts";

export interface NpyArray {
  readonly dtype: StepLeaf["dtype"];
  readonly shape: readonly number[];
  /** The elements, in C order and little-endian. */
  readonly data: ColumnData;
}

export interface NpyFile {
  /** The name of the archive in messages. `name` is the name of the array. */
  readonly file: string;
  readonly name: string;
  /** The size of the array's file in the archive, in bytes, without compression. */
  readonly size: number;
  readonly budget: MemoryBudget;
}

/** The content of an array's header, with the offset of the elements. */
export interface Header {
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly fortran: boolean;
  readonly begin: number;
}

const MAGIC = "\x93NUMPY";
const MAX_HEADER = 65536;
/** The maximum number of dimensions in NumPy. */
const MAX_DIMENSIONS = 64;
/** These expressions match the entries of `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, in any order. */
const DESCR = /['"]descr['"]\s*:\s*(?:'([^'"\\]*)'|"([^'"\\]*)"|(\[))/;
const FORTRAN = /['"]fortran_order['"]\s*:\s*(True|False)/;
const SHAPE = /['"]shape['"]\s*:\s*\(([\d\sL,]*)\)/;
/** Python 2 appends L to long integers. */
const LENGTH = /^\s*(\d{1,15})L?\s*$/;

/**
 * Reads an array. Its elements are stored in their places as they arrive.
 * @throws RldsError CORRUPT if the array is damaged · UNSUPPORTED if the elements are objects, structures, complex numbers or dates
 */
export async function npyArray(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, array: NpyFile): Promise<NpyArray> {
  let headBytes = new Uint8Array(0);
  let header: Header | undefined;
  let elements: Elements | undefined;
  for await (const chunk of chunks) {
    if (elements !== undefined) {
      elements.add(chunk);
      continue;
    }
    headBytes = concat([headBytes, chunk]);
    header = headerOf(headBytes, array);
    if (header === undefined) continue;
    elements = elementsOf(header, array);
    elements.add(headBytes.subarray(header.begin));
    headBytes = headBytes.subarray(0, 0);
  }
  if (elements === undefined || header === undefined) throw arrayError(array, `ends within its header, after ${headBytes.length} bytes`);
  return { dtype: header.type.dtype, shape: header.shape, data: elements.finish() };
}

/** Parses the header. Returns undefined if more bytes are needed. @throws RldsError CORRUPT if it is invalid · UNSUPPORTED if Reprise cannot read the array */
export function headerOf(bytes: Uint8Array, array: NpyFile): Header | undefined {
  const { file, name, size } = array;
  if (bytes.length < 12) return undefined;
  if (latin1(bytes.subarray(0, 6)) !== MAGIC) throw arrayError(array, "is not a NumPy array: its first bytes are wrong");
  const version = bytes[6] as number;
  if (version < 1 || version > 3) throw unsupportedFile({ file }, `${name} has .npy version ${version}, but Reprise reads only versions 1 to 3`);
  const view = dataView(bytes);
  const from = version === 1 ? 10 : 12;
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const begin = from + length;
  if (length > MAX_HEADER || begin > size) throw arrayError(array, `has a header with the invalid length ${length}`);
  if (begin > bytes.length) return undefined;
  const text = latin1(bytes.subarray(from, begin));
  const descrMatch = DESCR.exec(text);
  const fortran = FORTRAN.exec(text)?.[1];
  const shape = shapeOf(SHAPE.exec(text)?.[1]);
  if (descrMatch === null || fortran === undefined || shape === undefined)
    throw arrayError(array, `has an invalid header: ${JSON.stringify(text.slice(0, 80))}`);
  if (descrMatch[3] !== undefined) throw new ElementTypeError(file, `${name} has elements with several fields, which Reprise cannot read`);
  if (shape.length > MAX_DIMENSIONS) throw arrayError(array, `has ${shape.length} dimensions, more than NumPy's maximum of ${MAX_DIMENSIONS}`);
  return { type: typeOf(descrMatch[1] ?? descrMatch[2] ?? "", file, name), shape, fortran: fortran === "True", begin };
}

/** Parses a shape such as `3, 4`, which may end with a comma. Returns undefined if the text is not a shape. */
function shapeOf(text: string | undefined): number[] | undefined {
  if (text === undefined) return undefined;
  const parts = text.split(",");
  if (parts.at(-1)?.trim() === "") parts.pop();
  const lengths = parts.map((part) => LENGTH.exec(part)?.[1]);
  return lengths.includes(undefined) ? undefined : lengths.map(Number);
}

/** Returns the number of elements in the shape. It must match the number of bytes. @throws RldsError CORRUPT if the numbers differ */
export function countOf({ type, shape, begin }: Header, array: NpyFile): number {
  const { size } = array;
  const count = sizeOf(shape);
  const elementBytes = count * type.bytes;
  if (size - begin !== elementBytes)
    throw arrayError(array, `has ${size - begin} bytes of elements, but its shape (${shape.join(", ")}) needs ${elementBytes}`);
  return count;
}

function elementsOf(header: Header, array: NpyFile): Elements {
  const { type, shape, fortran } = header;
  const count = countOf(header, array);
  array.budget.reserve(count * type.memoryBytes, array.name);
  return new Elements(type, count, fortran && shape.length > 1 ? shape : undefined, (what) => arrayError(array, what));
}

/** Returns the error for an array that violates the format. @param what the message after the name of the array */
export function arrayError({ file, name }: NpyFile, what: string): RldsError {
  return corruptFile({ file }, `${name} ${what}`);
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}
