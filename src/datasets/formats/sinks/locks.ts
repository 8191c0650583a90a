/** Allows only one writer per dataset. Two writers would use the same file names and overwrite each other's metadata. */
import { RldsError } from "../../model/rlds-error.ts";
import type { SinkFolder } from "./sink-folder.ts";

/** Returns the error for a locked path. @param lock the name of the lock file, which the user can remove if its owner no longer exists */
export function busyError(file: string, holder: string, lock?: string): RldsError {
  const remedy = lock === undefined ? "" : `. If you are sure that it has ended, remove ${lock}`;
  return new RldsError("IO", `${holder} is already writing to this path. Wait until it is done, or use another path${remedy}`, { file });
}

const lockedPaths = new WeakMap<object, Set<string>>();

/** Returns a function that locks paths against other writers in this program. @param scope the object that represents the folder */
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
