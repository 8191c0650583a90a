/** Picks columns of a writer's history as described in a case. */

import { ReplayError } from "../../src/index.ts";
import type { HistoryColumn, ItemColumns, TrajectoryColumn, TrajectoryWriter } from "../../src/tf-agents/index.ts";
import { isObject, Malformed } from "./case.ts";

/**
 * Returns an item's columns, nested like `how`. In `how`, `["a", 0]` picks one step of field a, `["a", [start, stop, step]]` a slice, and `["a", {list: […]}]`
 * a list of steps.
 */
export function pick(writer: Pick<TrajectoryWriter, "history">, how: unknown): ItemColumns {
  if (!isObject(how)) throw new Malformed(`trajectory must be an object of columns, got ${JSON.stringify(how)}`);
  const { history } = writer;
  return Object.fromEntries(Object.entries(how).map(([name, column]) => [name, Array.isArray(column) ? columnOf(history, column) : pick(writer, column)]));
}

function columnOf(history: unknown, how: readonly unknown[]): TrajectoryColumn {
  const path = ["step", ...how.slice(0, -1).map(String)];
  const column = path.reduce<unknown>((node, key) => (node as { readonly [key: string]: unknown } | undefined)?.[key], history) as HistoryColumn | undefined;
  if (column === undefined) throw new ReplayError("NOT_FOUND", `the history has no ${path.join(".")}`);
  const index = how.at(-1);
  if (typeof index === "number") return column.at(index);
  if (isObject(index)) return column.list(index.list as readonly number[]);
  if (!Array.isArray(index)) throw new Malformed(`index must be an integer, [start, stop, step] or {list}, got ${JSON.stringify(index)}`);
  const [start, stop, step] = index.length === 1 ? [null, index[0]] : index;
  return column.slice(start, stop, step);
}

/** Applies `each` to every column of an item or of a history, and keeps the nesting. */
export function map<T>(node: unknown, each: (column: T) => unknown): unknown {
  if (typeof (node as { slice?: unknown; values?: unknown }).slice === "function" && !Array.isArray(node)) return each(node as T);
  if (Array.isArray(node)) return node.map((part) => map(part, each));
  if (typeof (node as { readonly isSqueezed?: unknown }).isSqueezed === "boolean") return each(node as T);
  return Object.fromEntries(Object.entries(node as object).map(([name, part]) => [name, map(part, each)]));
}

/** Formats the shape of a column like Python. */
export function shapeText({ shape }: TrajectoryColumn): string {
  return `[${shape.join(", ")}]`;
}
