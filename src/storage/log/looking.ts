/** The log that is in a directory, without its lock: what it is of is known before it is opened. */
import { codeOf } from "../../base/error.ts";
import { attempt } from "../../files/attempt.ts";
import type { Directory } from "../../files/directory.ts";
import { Log } from "./log.ts";
import { readingOneMomentNow } from "./moment.ts";
import { ReadOnlyDirectory } from "./read-only-directory.ts";
import { flushWriters } from "./writers.ts";

export interface Looking {
  readonly salvage: boolean | undefined;
  readonly takeOver: boolean | undefined;
  readonly module?: WebAssembly.Module | undefined;
}

/**
 * Looks at a log, which is closed again. Where it makes no sense its owner may be writing to it: then it is looked at once more with the lock.
 * @returns undefined where there is none, or no folder; none is made
 * @throws ReplayError LOCKED where an owner is at it · CORRUPT, UNSUPPORTED, IO
 */
export function looking(directory: Directory, options: Looking): Log | undefined {
  let failure: unknown;
  try {
    flushWriters(directory);
    // The newest file says it.
    const log = readingOneMomentNow(directory.name, () => look(new ReadOnlyDirectory(directory, { lazily: true }), options));
    if (log !== undefined) return log;
  } catch (error) {
    failure = error;
  }
  if (!hasFiles(directory)) {
    if (failure === undefined || codeOf((failure as Error).cause) === "ENOENT") return undefined;
    throw failure;
  }
  const release = attempt("locking", directory, "", () => directory.lock(() => {}, options.takeOver));
  try {
    return look(directory, options);
  } finally {
    release();
  }
}

function look(directory: Directory, { salvage = false, module }: Looking): Log | undefined {
  const log = Log.open(directory, { about: {}, readOnly: true, salvage, ...(module && { module }) });
  log.close();
  return log.isNew ? undefined : log;
}

function hasFiles(directory: Directory): boolean {
  try {
    return directory.list().length > 0;
  } catch {
    // There is no folder.
    return false;
  }
}
