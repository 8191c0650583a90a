/** Maps the columns of a generic file to the parts of a step. */
import { mustBe } from "../../../base/error.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import { type Field, fieldsOf } from "../columns/names.ts";
import type { ColumnNames, FileColumn } from "./columns.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { findColumn } from "./table.ts";

export interface ColumnMapping {
  readonly column: FileColumn;
  readonly keys: readonly string[];
}

export interface Mapping {
  /** The columns of the observation, the action, the reward and the discount, if they exist, and the columns of metadata. */
  readonly leaves: readonly ColumnMapping[];
  readonly episode?: FileColumn;
  readonly first?: FileColumn;
  readonly last?: FileColumn;
  /** Marks steps at which the environment terminated. */
  readonly terminal?: FileColumn;
  /** Marks steps at which a time limit or a similar cause truncated the episode. */
  readonly truncated?: FileColumn;
  /** Marks steps at which the episode ended for an unknown reason. */
  readonly done?: FileColumn;
  /** The columns whose types cannot be read, or whose places other columns take. */
  readonly unread: readonly string[];
}

/** The fields that mark the beginnings or ends of episodes, by role. */
const ROLES: { readonly [role in "episode" | "first" | "last" | "terminal" | "truncated" | "done"]: readonly Field[] } = {
  episode: ["episode"],
  first: ["is_first"],
  last: ["is_last"],
  terminal: ["is_terminal", "terminated"],
  truncated: ["truncated"],
  done: ["done"],
};
const VALUES: readonly (Field | undefined)[] = ["observation", "action", "reward", "discount", "next_observation"];

/** Returns the parts of a column's name, which is split at dots and slashes. */
const partsOf = ({ keys }: FileColumn) => keys.flatMap((key) => key.split(/[./]/));

/** Maps the columns to a step. @throws TypeError, RangeError if `names` is invalid · RldsError UNSUPPORTED if no column is the observation or the action */
export function mappingOf(file: ParquetFile, names: ColumnNames): Mapping {
  const assigned = new Set<FileColumn>();
  const namedColumns = new Map<string, FileColumn>();
  for (const [path, name] of Object.entries(names)) {
    if (typeof name !== "string") throw mustBe(TypeError, `columns.${path}`, "the name of a column", name);
    const column = findColumn(file, name);
    if (column === undefined) {
      const known = file.columns.map(({ keys }) => keys.join("/"));
      throw mustBe(RangeError, `columns.${path}`, `one of ${known.join(", ")}`, name, known);
    }
    namedColumns.set(path, column);
    assigned.add(column);
  }
  const roles: { [role: string]: FileColumn | undefined } = {};
  const unassigned = () => file.columns.filter((column) => !assigned.has(column));
  for (const [role, roleFields] of Object.entries(ROLES)) {
    const rlds = role === "first" || role === "last" || role === "terminal" ? `is_${role}` : role;
    const singles = new Map(unassigned().flatMap((column) => (partsOf(column).length === 1 ? [[partsOf(column)[0] as string, column] as const] : [])));
    const fields = fieldsOf([...singles.keys()]);
    const column =
      namedColumns.get(role) ??
      namedColumns.get(rlds) ??
      roleFields.flatMap((field) => [...singles].filter(([name]) => fields.get(name) === field).map(([, candidate]) => candidate))[0];
    if (column === undefined) continue;
    if (column.listDepth > 1 || column.dtype === undefined || column.dtype === "bytes" || (column.dtype === "string" && role !== "episode"))
      throw unsupportedFile(
        { file: file.name },
        `column ${column.keys.join("/")} must contain one ${role === "episode" ? "number or string" : "boolean"} per row, because it is the ${role} column`,
      );
    roles[role] = column;
    assigned.add(column);
  }
  const leaves: ColumnMapping[] = [...namedColumns]
    .filter(([path]) => !Object.hasOwn(ROLES, path) && !/^is_(first|last|terminal)$/.test(path))
    .map(([path, column]) => ({ column, keys: path.split("/") }));
  const unread: string[] = [];
  const index = findColumn(file, "step_index");
  const valueFields = fieldsOf([...new Set(unassigned().map((column) => partsOf(column)[0] as string))]);
  const role = (name: string) => {
    const field = valueFields.get(name);
    const isGiven = leaves.some(({ keys }) => keys[0] === field && namedColumns.has(keys.join("/")));
    return VALUES.includes(field) && !isGiven ? field : undefined;
  };
  for (const column of file.columns) {
    if (assigned.has(column) || column === index) continue;
    if (column.dtype === undefined) {
      unread.push(column.keys.join("/"));
      continue;
    }
    const [first = "", ...rest] = partsOf(column);
    const keys = [role(first) ?? first, ...rest];
    // A column that the option `columns` names takes the place of this column.
    if ([...namedColumns.keys()].some((path) => `${path}/`.startsWith(`${keys.join("/")}/`) || `${keys.join("/")}/`.startsWith(`${path}/`)))
      unread.push(column.keys.join("/"));
    else leaves.push({ column, keys });
  }
  for (const field of ["observation", "action"]) {
    if (leaves.some(({ keys }) => keys[0] === field)) continue;
    const columnNames = file.columns.map(({ keys }) => keys.join("/")).join(", ");
    throw unsupportedFile({ file: file.name }, `the file has no column for ${field}, got ${columnNames}. Pass rename: { NAME: "${field}" } to choose one`);
  }
  checkNesting(leaves, file.name);
  return { ...roles, leaves, unread };
}

/** Checks that no path is both a value and the parent of other paths. @throws RldsError UNSUPPORTED if two paths conflict */
export function checkNesting(leaves: readonly ColumnMapping[], file: string): void {
  const paths = leaves.map(({ keys }) => keys.join("/"));
  for (const path of paths) {
    const conflict =
      paths.find((candidate) => candidate.startsWith(`${path}/`)) ?? (paths.filter((otherPath) => otherPath === path).length > 1 ? path : undefined);
    if (conflict !== undefined)
      throw unsupportedFile(
        { file },
        `the paths of two columns in a step conflict: ${[...new Set([path, conflict])].join(" and ")}. Rename one of them with rename: { … }`,
      );
  }
}
