/** Maps each dtype to its names in file formats. If a new dtype has no entry, the code does not compile. */
import type { Dtype } from "../../schema/dtype.ts";

/** The names of a dtype in file formats. */
export interface FormatNames {
  /** The name in NumPy, which tensorflow_datasets, LeRobot, Minari and Gymnasium also use. */
  readonly numpy: string;
  /**
   * The storage type in Parquet, and the logical type of integers. Files that Reprise writes contain the logical type only if it differs from the storage type.
   */
  readonly parquet: { readonly type: "BOOLEAN" | "INT32" | "INT64" | "FLOAT" | "DOUBLE" | "FIXED_LEN_BYTE_ARRAY"; readonly integer?: IntegerName };
  /** The wider dtype that stores the numbers without loss, if neither NumPy nor Parquet has this dtype. The names are then those of the wider dtype. */
  readonly widened?: Dtype;
}

type IntegerName = "INT_8" | "INT_16" | "INT_32" | "INT_64" | "UINT_8" | "UINT_16" | "UINT_32" | "UINT_64";

export const FORMAT_NAMES: { readonly [D in Dtype]: FormatNames } = {
  bool: { numpy: "bool", parquet: { type: "BOOLEAN" } },
  i8: { numpy: "int8", parquet: { type: "INT32", integer: "INT_8" } },
  u8: { numpy: "uint8", parquet: { type: "INT32", integer: "UINT_8" } },
  i16: { numpy: "int16", parquet: { type: "INT32", integer: "INT_16" } },
  u16: { numpy: "uint16", parquet: { type: "INT32", integer: "UINT_16" } },
  i32: { numpy: "int32", parquet: { type: "INT32", integer: "INT_32" } },
  u32: { numpy: "uint32", parquet: { type: "INT32", integer: "UINT_32" } },
  i64: { numpy: "int64", parquet: { type: "INT64", integer: "INT_64" } },
  u64: { numpy: "uint64", parquet: { type: "INT64", integer: "UINT_64" } },
  f32: { numpy: "float32", parquet: { type: "FLOAT" } },
  f64: { numpy: "float64", parquet: { type: "DOUBLE" } },
  f16: { numpy: "float16", parquet: { type: "FIXED_LEN_BYTE_ARRAY" } },
  bf16: { numpy: "float32", parquet: { type: "FLOAT" }, widened: "f32" },
};

/** Returns the dtypes by their names in one format. Omits dtypes that are stored as a wider dtype. */
export function dtypesBy(nameOf: (names: FormatNames) => string | undefined): { readonly [name: string]: Dtype } {
  const own = Object.entries(FORMAT_NAMES).filter(([, { widened }]) => widened === undefined);
  const pairs = own.map(([dtype, names]) => [nameOf(names), dtype] as const);
  return Object.fromEntries(pairs.filter(([name]) => name !== undefined));
}
