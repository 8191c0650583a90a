/** One writer a dataset: two at once would give their files the same names, and one would write over what the other says of it. */
import { RldsError } from "../../model/rlds-error.ts";
import type { SinkFolder } from "./sink-folder.ts";

/** @param lock the name of a file that says so: whoever made it may be unreachable */
export function atWork(file: string, who: string, lock?: string): RldsError {
  const remedy = lock === undefined ? "" : `; where it certainly has ended, remove ${lock}`;
  return new RldsError("IO", `${who} is writing here: wait until it is done, or write elsewhere${remedy}`, { file });
}

const held = new WeakMap<object, Set<string>>();

/** Locks among the writers of this program: for places that are one object. */
export function locksOf(place: object, name: string): NonNullable<SinkFolder["lock"]> {
  const paths = held.get(place) ?? new Set<string>();
  held.set(place, paths);
  return async (path) => {
    if (paths.has(path)) throw atWork(`${name}/${path}`, "another writer of this program");
    paths.add(path);
    return async () => {
      paths.delete(path);
    };
  };
}
