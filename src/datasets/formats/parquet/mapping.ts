/** Which columns of somebody else's file are what of a step. */
import { mustBe } from "../../../base/error.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnNames, FileColumn } from "./columns.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { findColumn } from "./table.ts";

export interface ColumnMapping {
  readonly column: FileColumn;
  readonly keys: readonly string[];
}

export interface Mapping {
  /** Observation, action, reward and discount where they are there, and what else the file has. */
  readonly leaves: readonly ColumnMapping[];
  readonly episode?: FileColumn;
  readonly first?: FileColumn;
  readonly last?: FileColumn;
  /** The environment ended. */
  readonly terminal?: FileColumn;
  /** A time limit or the like ended it. */
  readonly truncated?: FileColumn;
  /** It ended, nobody says why. */
  readonly done?: FileColumn;
  /** Columns of types that are not read, or whose places were given to others. */
  readonly unread: readonly string[];
}

/** Names by which files have it, the first one first. */
const NAMES: { readonly [role: string]: readonly string[] } = {
  observation: ["observation", "observations", "obs", "state", "states"],
  action: ["action", "actions"],
  reward: ["reward", "rewards"],
  discount: ["discount", "discounts"],
};
const ROLES: { readonly [role in "episode" | "first" | "last" | "terminal" | "truncated" | "done"]: readonly string[] } = {
  episode: ["episode_index", "episode_id", "episode", "trajectory_id", "traj_id"],
  first: ["is_first"],
  last: ["is_last"],
  terminal: ["is_terminal", "terminal", "terminals", "terminated", "terminations"],
  truncated: ["truncated", "truncations", "timeout", "timeouts"],
  done: ["done", "dones"],
};

/** @throws TypeError, RangeError for `names` · RldsError UNSUPPORTED where there is no observation or no action */
export function mappingOf(file: ParquetFile, names: ColumnNames): Mapping {
  const assigned = new Set<FileColumn>();
  const namedColumns = new Map<string, FileColumn>();
  for (const [path, name] of Object.entries(names)) {
    if (typeof name !== "string") throw mustBe(TypeError, `columns.${path}`, "the name of a column", name);
    const column = findColumn(file, name);
    if (column === undefined) throw mustBe(RangeError, `columns.${path}`, `one of ${file.columns.map(({ keys }) => keys.join("/")).join(", ")}`, name);
    namedColumns.set(path, column);
    assigned.add(column);
  }
  const roles: { [role: string]: FileColumn | undefined } = {};
  for (const [role, names] of Object.entries(ROLES)) {
    const rlds = role === "first" || role === "last" || role === "terminal" ? `is_${role}` : role;
    const column =
      namedColumns.get(role) ??
      namedColumns.get(rlds) ??
      names.map((name) => findColumn(file, name)).find((candidate) => candidate !== undefined && !assigned.has(candidate));
    if (column === undefined) continue;
    if (column.listDepth > 0 || column.dtype === undefined || column.dtype === "bytes" || (column.dtype === "string" && role !== "episode"))
      throw unsupportedFile(
        { file: file.name },
        `column ${column.keys.join("/")} must be single ${role === "episode" ? "numbers or texts" : "booleans"} as it is the ${role} of a step`,
      );
    roles[role] = column;
    assigned.add(column);
  }
  const leaves: ColumnMapping[] = [...namedColumns]
    .filter(([path]) => !Object.hasOwn(ROLES, path) && !/^is_(first|last|terminal)$/.test(path))
    .map(([path, column]) => ({ column, keys: path.split("/") }));
  const unread: string[] = [];
  const index = findColumn(file, "step_index");
  const role = (name: string) =>
    Object.keys(NAMES).find(
      (otherRole) =>
        NAMES[otherRole]?.includes(name) &&
        !hasPreferredColumn(file, otherRole, name) &&
        !leaves.some(({ keys }) => keys[0] === otherRole && namedColumns.has(keys.join("/"))),
    );
  for (const column of file.columns) {
    if (assigned.has(column) || column === index) continue;
    if (column.dtype === undefined) {
      unread.push(column.keys.join("/"));
      continue;
    }
    const [first = "", ...rest] = column.keys.flatMap((key) => key.split(/[./]/));
    const keys = [role(first) ?? first, ...rest];
    // Its place was given to another.
    if ([...namedColumns.keys()].some((path) => `${path}/`.startsWith(`${keys.join("/")}/`) || `${keys.join("/")}/`.startsWith(`${path}/`)))
      unread.push(column.keys.join("/"));
    else leaves.push({ column, keys });
  }
  for (const field of ["observation", "action"]) {
    if (leaves.some(({ keys }) => keys[0] === field)) continue;
    const columnNames = file.columns.map(({ keys }) => keys.join("/")).join(", ");
    throw unsupportedFile({ file: file.name }, `the file has no column that is the ${field} by its name, of ${columnNames}: columns: { ${field}: … } names it`);
  }
  checkNesting(leaves, file.name);
  return { ...roles, leaves, unread };
}

/** Whether another column has a name that comes before this one: `state` is the observation only where nothing is called so. */
function hasPreferredColumn(file: ParquetFile, role: string, name: string): boolean {
  const names = NAMES[role] as readonly string[];
  const better = names.slice(0, names.indexOf(name));
  return file.columns.some(({ keys }) => better.includes(keys.flatMap((key) => key.split(/[./]/))[0] as string));
}

/** No path may be a value and have others below it. */
export function checkNesting(leaves: readonly ColumnMapping[], file: string): void {
  const paths = leaves.map(({ keys }) => keys.join("/"));
  for (const path of paths) {
    const conflict =
      paths.find((candidate) => candidate.startsWith(`${path}/`)) ?? (paths.filter((otherPath) => otherPath === path).length > 1 ? path : undefined);
    if (conflict !== undefined)
      throw unsupportedFile({ file }, `two columns would be ${path} and ${conflict} of a step: give one of them another path with columns: { … }`);
  }
}
