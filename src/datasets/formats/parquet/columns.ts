/** Describes the columns of a Parquet file, with the types of their values and the depths of their lists. */
import { mustBe } from "../../../base/error.ts";
import { type Dtype, isFloat } from "../../../schema/dtype.ts";
import { dtypesBy, FORMAT_NAMES } from "../dtypes.ts";
import type { NullValue } from "../selection/selection.ts";

/** The names of columns, by RLDS path, or by `episode`, `terminal`, `truncated` or `done`. Names may contain dots or slashes. */
export type ColumnNames = { readonly [path: string]: string };

/** The properties of hyparquet's schema tree that Reprise uses. */
export interface SchemaNode {
  readonly element: {
    readonly name: string;
    readonly type?: string;
    readonly type_length?: number;
    readonly repetition_type?: string;
    readonly converted_type?: string;
    readonly logical_type?: { readonly type?: string; readonly bitWidth?: number; readonly isSigned?: boolean };
  };
  readonly children: readonly SchemaNode[];
  readonly path: readonly string[];
}

/** A leaf of the file's schema. */
export interface FileColumn {
  /** The names on the path to the leaf, without the names of list nodes, such as `["observation", "state"]`. */
  readonly keys: readonly string[];
  /** The path in the file, such as `observation.state.list.element`. */
  readonly path: string;
  readonly physical: string;
  readonly typeLength: number;
  /** The dtype. Undefined for a type that cannot be a leaf. */
  readonly dtype: Dtype | "string" | "bytes" | undefined;
  /** The name of the type in the file. */
  readonly type: string;
  /** The number of lists around a value. */
  readonly listDepth: number;
  readonly maxDefinition: number;
  /** Whether the value itself may be missing. */
  readonly optional: boolean;
  /** The replacement for nulls. If there is no replacement, a missing float is NaN. */
  readonly nullValue?: NullValue | undefined;
}

const INTEGERS = dtypesBy(({ parquet }) => parquet.integer);
/** The dtypes that a physical type determines completely. */
const PLAIN = dtypesBy(({ parquet }) => (parquet.integer === undefined ? parquet.type : undefined));

/** Returns the leaves of the file's schema in the order of the column chunks. */
export function fileColumns(root: SchemaNode): FileColumn[] {
  const columns: FileColumn[] = [];
  const visit = (node: SchemaNode, keys: readonly string[], listDepth: number, definition: number, inList: boolean): void => {
    const { element, children } = node;
    const repeated = element.repetition_type === "REPEATED";
    const isList = element.converted_type === "LIST" || element.logical_type?.type === "LIST";
    if (typeof element.name !== "string") throw new RangeError("a column has no name");
    const columnKeys = inList ? keys : [...keys, element.name];
    const nextListDepth = listDepth + (repeated ? 1 : 0);
    const nextDefinition = definition + (element.repetition_type === "REQUIRED" || element.repetition_type === undefined ? 0 : 1);
    if (children.length === 0) {
      columns.push(leafOf(node, columnKeys, nextListDepth, nextDefinition));
      return;
    }
    // A list is a group with a repeated group that contains the element, and the names of these groups carry no information. If the repeated node is itself the
    // element, its name is kept.
    const isElement = isList || (inList && repeated && children.length === 1);
    for (const child of children) visit(child, columnKeys, nextListDepth, nextDefinition, isElement);
  };
  for (const child of root.children) visit(child, [], 0, 0, false);
  return columns;
}

function leafOf({ element, path }: SchemaNode, keys: readonly string[], listDepth: number, maxDefinition: number): FileColumn {
  const { type: physical = "", type_length = 0, converted_type, logical_type } = element;
  return {
    ...{ keys, path: path.join("."), physical, typeLength: type_length, listDepth, maxDefinition, optional: element.repetition_type === "OPTIONAL" },
    dtype: dtypeOf(physical, type_length, converted_type, logical_type),
    type: logical_type?.type ?? converted_type ?? physical,
  };
}

function dtypeOf(physical: string, length: number, converted: string | undefined, logical: SchemaNode["element"]["logical_type"]): FileColumn["dtype"] {
  if (converted === "DECIMAL" || logical?.type === "DECIMAL") return undefined;
  if (physical === "FIXED_LEN_BYTE_ARRAY") return logical?.type === "FLOAT16" && length === 2 ? "f16" : "bytes";
  if (Object.hasOwn(PLAIN, physical)) return PLAIN[physical];
  if (physical === "INT32" || physical === "INT64") {
    const typeName = logical?.type === "INTEGER" ? `${logical.isSigned ? "INT" : "UINT"}_${logical.bitWidth}` : converted;
    const wide = physical === "INT64";
    const dtype = INTEGERS[typeName ?? ""] ?? (wide ? "i64" : "i32");
    return FORMAT_NAMES[dtype].parquet.type === physical ? dtype : undefined;
  }
  const text = ["UTF8", "JSON", "ENUM"].includes(converted ?? "") || ["STRING", "JSON", "ENUM"].includes(logical?.type ?? "");
  return physical === "BYTE_ARRAY" ? (text ? "string" : "bytes") : undefined;
}

/** Converts the replacement for nulls to the type of the column. @throws RangeError if the column's type cannot represent it */
export function nullFor({ keys, dtype, type }: FileColumn, value: NullValue | undefined): NullValue | undefined {
  if (value === undefined) return undefined;
  const misfit = () => mustBe(RangeError, `null.${keys.join("/")}`, `a value of the column's type ${dtype ?? type}`, value);
  if (dtype === undefined || dtype === "bytes") throw misfit();
  if (dtype === "string") return String(value);
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (isFloat(dtype)) {
    if (typeof number === "string" || (Number.isNaN(Number(number)) && value !== "NaN")) throw misfit();
    return Number(number);
  }
  const whole = typeof number === "boolean" ? Number(number) : number;
  if (typeof whole === "string" || (typeof whole === "number" && !Number.isSafeInteger(whole))) throw misfit();
  const [min, max] = dtype === "bool" ? [0n, 1n] : integerRange(dtype);
  if (BigInt(whole) < min || BigInt(whole) > max) throw misfit();
  return dtype === "i64" || dtype === "u64" ? BigInt(whole) : Number(whole);
}

function integerRange(dtype: Dtype): readonly [min: bigint, max: bigint] {
  const bits = BigInt(dtype.slice(1));
  return dtype.startsWith("u") ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
}
