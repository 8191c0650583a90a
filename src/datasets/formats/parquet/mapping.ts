/** Which columns of somebody else's file are what of a step. */
import { mustBe } from "../../../base/error.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnNames, FileColumn } from "./columns.ts";
import type { ParquetFile } from "./parquet-file.ts";
import { columnNamed } from "./table.ts";

export interface MappedColumn {
  readonly column: FileColumn;
  readonly keys: readonly string[];
}

export interface Mapping {
  /** Observation, action, reward and discount where they are there, and what else the file has. */
  readonly leaves: readonly MappedColumn[];
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
  const taken = new Set<FileColumn>();
  const given = new Map<string, FileColumn>();
  for (const [path, name] of Object.entries(names)) {
    if (typeof name !== "string") throw mustBe(TypeError, `columns.${path}`, "the name of a column", name);
    const column = columnNamed(file, name);
    if (column === undefined) throw mustBe(RangeError, `columns.${path}`, `one of ${file.columns.map(({ keys }) => keys.join("/")).join(", ")}`, name);
    given.set(path, column);
    taken.add(column);
  }
  const roles: { [role: string]: FileColumn | undefined } = {};
  for (const [role, known] of Object.entries(ROLES)) {
    const rlds = role === "first" || role === "last" || role === "terminal" ? `is_${role}` : role;
    const column = given.get(role) ?? given.get(rlds) ?? known.map((name) => columnNamed(file, name)).find((one) => one !== undefined && !taken.has(one));
    if (column === undefined) continue;
    if (column.lists > 0 || column.dtype === undefined || column.dtype === "bytes" || (column.dtype === "string" && role !== "episode"))
      throw new RldsError(
        "UNSUPPORTED",
        `column ${column.keys.join("/")} must be single ${role === "episode" ? "numbers or texts" : "booleans"} as it is the ${role} of a step`,
        { file: file.name },
      );
    roles[role] = column;
    taken.add(column);
  }
  const leaves: MappedColumn[] = [...given]
    .filter(([path]) => !Object.hasOwn(ROLES, path) && !/^is_(first|last|terminal)$/.test(path))
    .map(([path, column]) => ({ column, keys: path.split("/") }));
  const unread: string[] = [];
  const index = columnNamed(file, "step_index");
  const role = (name: string) =>
    Object.keys(NAMES).find(
      (one) => NAMES[one]?.includes(name) && !isTakenByBetter(file, one, name) && !leaves.some(({ keys }) => keys[0] === one && given.has(keys.join("/"))),
    );
  for (const column of file.columns) {
    if (taken.has(column) || column === index) continue;
    if (column.dtype === undefined) {
      unread.push(column.keys.join("/"));
      continue;
    }
    const [first = "", ...rest] = column.keys.flatMap((key) => key.split(/[./]/));
    const keys = [role(first) ?? first, ...rest];
    // Its place was given to another.
    if ([...given.keys()].some((path) => `${path}/`.startsWith(`${keys.join("/")}/`) || `${keys.join("/")}/`.startsWith(`${path}/`)))
      unread.push(column.keys.join("/"));
    else leaves.push({ column, keys });
  }
  for (const needed of ["observation", "action"]) {
    if (leaves.some(({ keys }) => keys[0] === needed)) continue;
    const there = file.columns.map(({ keys }) => keys.join("/")).join(", ");
    throw new RldsError("UNSUPPORTED", `the file has no column that is the ${needed} by its name, of ${there}: columns: { ${needed}: … } names it`, {
      file: file.name,
    });
  }
  checkNesting(leaves, file.name);
  return { ...roles, leaves, unread };
}

/** Whether another column has a name that comes before this one: `state` is the observation only where nothing is called so. */
function isTakenByBetter(file: ParquetFile, role: string, name: string): boolean {
  const known = NAMES[role] as readonly string[];
  const better = known.slice(0, known.indexOf(name));
  return file.columns.some(({ keys }) => better.includes(keys.flatMap((key) => key.split(/[./]/))[0] as string));
}

/** No path may be a value and have others below it. */
export function checkNesting(leaves: readonly MappedColumn[], file: string): void {
  const paths = leaves.map(({ keys }) => keys.join("/"));
  for (const path of paths) {
    const other = paths.find((one) => one.startsWith(`${path}/`)) ?? (paths.filter((one) => one === path).length > 1 ? path : undefined);
    if (other !== undefined)
      throw new RldsError("UNSUPPORTED", `two columns would be ${path} and ${other} of a step: give one of them another path with columns: { … }`, { file });
  }
}
