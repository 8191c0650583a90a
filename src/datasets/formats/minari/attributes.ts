/** Reads the attributes in an episode's metadata.json, with the dtypes that HDF5 would have. */
import type { Attribute } from "./episode-store.ts";

/** The attributes that Minari stores as integers. All other numbers become f64 if they fit, because JSON does not distinguish integers from floats. */
const INTEGERS = new Set(["id", "total_steps", "seed"]);
const NUMBER_LITERALS = new Set(["NaN", "Infinity", "-Infinity"]);

/** Returns the attributes by path, such as `options/gravity`. Omits values that are not text, numbers, flags or lists of numbers. */
export function attributesOf(about: { readonly [key: string]: unknown }): Map<string, Attribute> {
  const attributes = new Map<string, Attribute>();
  const visit = (value: unknown, path: string): void => {
    const attribute = attributeOf(value, path);
    if (attribute !== undefined) attributes.set(path, attribute);
    else if (typeof value === "object" && value !== null && !Array.isArray(value))
      for (const [name, part] of Object.entries(value)) visit(part, `${path}/${name}`);
  };
  for (const [name, value] of Object.entries(about)) visit(value, name);
  return attributes;
}

function attributeOf(value: unknown, path: string): Attribute | undefined {
  const isNumber = (element: unknown) => typeof element === "number" || (typeof element === "string" && NUMBER_LITERALS.has(element));
  if (typeof value === "bigint") return integers([value], []);
  if (INTEGERS.has(path) && Number.isSafeInteger(value)) return { leaf: { dtype: "i64", shape: [] }, data: BigInt64Array.of(BigInt(value as number)) };
  if (isNumber(value)) return { leaf: { dtype: "f64", shape: [] }, data: Float64Array.of(Number(value)) };
  if (typeof value === "string") return { leaf: { dtype: "string", shape: [] }, data: [value] };
  if (typeof value === "boolean") return { leaf: { dtype: "bool", shape: [] }, data: Uint8Array.of(Number(value)) };
  if (Array.isArray(value) && value.length > 0 && value.every(isNumber))
    return { leaf: { dtype: "f64", shape: [value.length] }, data: Float64Array.from(value, Number) };
  const isInteger = (element: unknown): element is number | bigint => typeof element === "bigint" || Number.isSafeInteger(element);
  if (Array.isArray(value) && value.length > 0 && value.every(isInteger)) return integers(value, [value.length]);
  return undefined;
}

/** Returns an attribute with 64-bit integers, which may exceed the range in which numbers are exact. */
function integers(values: readonly (number | bigint)[], shape: readonly number[]): Attribute {
  const isLong = values.some((value) => value >= 2n ** 63n);
  const data = (isLong ? BigUint64Array : BigInt64Array).from(values.map(BigInt));
  return { leaf: { dtype: isLong ? "u64" : "i64", shape }, data };
}
