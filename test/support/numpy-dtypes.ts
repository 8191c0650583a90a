/** Maps numeric dtypes to their NumPy names. */
import type { Dtype } from "../../src/schema/dtype.ts";

export const NUMPY: { readonly [D in Dtype]: string } = {
  bool: "bool",
  i8: "int8",
  u8: "uint8",
  i16: "int16",
  u16: "uint16",
  i32: "int32",
  u32: "uint32",
  i64: "int64",
  u64: "uint64",
  f32: "float32",
  f64: "float64",
  f16: "float16",
  bf16: "bfloat16",
};
