/** One writer a dataset: two at once would give their files the same names, and one would write over what the other says of it. */
import { RldsError } from "../../model/rlds-error.ts";
import type { SinkFolder } from "./sink-folder.ts";

/** @param lock the name of a file that says so: whoever made it may be unreachable */
export function busyError(file: string, holder: string, lock?: string): RldsError {
  const remedy = lock === undefined ? "" : `. If it has certainly ended, remove ${lock}`;
  return new RldsError("IO", `${holder} is writing here. Wait until it is done, or write elsewhere${remedy}`, { file });
}

const lockedPaths = new WeakMap<object, Set<string>>();

/** Locks among the writers of this program: for places that are one object. */
export function locksOf(scope: object, name: string): NonNullable<SinkFolder["lock"]> {
  const paths = lockedPaths.get(scope) ?? new Set<string>();
  lockedPaths.set(scope, paths);
  return async (path) => {
    if (paths.has(path)) throw busyError(`${name}/${path}`, "another writer of this program");
    paths.add(path);
    return async () => {
      paths.delete(path);
    };
  };
}
