/** Lists the data types of TensorFlow and their dtypes in Reprise. */
import { DTYPES, type Dtype } from "../../schema/dtype.ts";
import { isHalf } from "../../schema/half.ts";

export interface DataType {
  /** The number of the type in TensorFlow. */
  readonly number: number;
  /** The name in errors and signatures. Only types whose name is a dtype of Reprise can be written. */
  readonly name: string;
  /** The number of bytes of an element on the wire; 0 for text. */
  readonly bytes: number;
  /** The dtype of the elements after reading. */
  readonly as: Dtype | "string";
  /** The conversion to that dtype, if one is needed. */
  readonly widen?: "half" | "pair";
  readonly integer: boolean;
}

function type(number: number, name: string, bytes: number, as: DataType["as"] = name as Dtype, widen?: DataType["widen"]): DataType {
  return { number, name, bytes, as, integer: /^[iu]\d/.test(name), ...(widen === undefined ? {} : { widen }) };
}

/** The TensorFlow number of each Reprise dtype. */
const NUMBERS: { readonly [D in Dtype]: number } = {
  ...{ f32: 1, f64: 2, i32: 3, u8: 4, i16: 5, i8: 6, i64: 9, bool: 10, bf16: 14, u16: 17, f16: 19, u32: 22, u64: 23 },
};

/** Complex numbers are pairs, with a last dimension of 2. Quantized integers are integers. */
const TYPES = [
  ...Object.entries(NUMBERS).map(([dtype, number]) => type(number, dtype, DTYPES[dtype as Dtype].bytes, dtype as Dtype, isHalf(dtype) ? "half" : undefined)),
  type(7, "string", 0),
  type(8, "complex64", 8, "f32", "pair"),
  type(11, "qint8", 1, "i8"),
  type(12, "quint8", 1, "u8"),
  type(13, "qint32", 4, "i32"),
  type(15, "qint16", 2, "i16"),
  type(16, "quint16", 2, "u16"),
  type(18, "complex128", 16, "f64", "pair"),
];

const BY_NUMBER: readonly (DataType | undefined)[] = Array.from({ length: 24 }, (_, number) => TYPES.find((dataTypeEntry) => dataTypeEntry.number === number));
const BY_WORD = new Map(TYPES.map((dataTypeEntry) => [dataTypeEntry.name, dataTypeEntry]));

/** The types of signatures whose tensors cannot be read. */
const UNREADABLE = new Map([
  [20, "resource"],
  [21, "variant"],
  [24, "float8_e5m2"],
  [25, "float8_e4m3fn"],
  [29, "int4"],
  [30, "uint4"],
]);

/** Returns the name of a type for errors and signatures, even if the type cannot be read. */
export function typeName(number: number): string {
  return BY_NUMBER[number]?.name ?? UNREADABLE.get(number) ?? `data type ${number}`;
}

/** Returns the data type with this number in TensorFlow; undefined for a type whose tensors Reprise cannot read. */
export function dataType(number: number): DataType | undefined {
  return BY_NUMBER[number];
}

export function dataTypeOf(name: Dtype | "string"): DataType {
  return BY_WORD.get(name) as DataType;
}
