/** Reads the head of a log before the log is opened, without taking its lock if possible. */
import { codeOf } from "../../base/error.ts";
import type { Directory } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import { readConsistentlyNow } from "./file-sizes.ts";
import { Log } from "./log.ts";
import { flushLogs } from "./open-logs.ts";
import { ReadOnlyDirectory } from "./read-only-directory.ts";

export interface PeekOptions {
  readonly salvage: boolean | undefined;
  readonly takeOver: boolean | undefined;
  readonly module?: WebAssembly.Module | undefined;
}

/**
 * Opens a log for reading, and closes it. If the log is inconsistent, its owner may be writing, so the log is read again with the lock.
 * @returns undefined if the log or the folder does not exist. Never creates a folder
 * @throws ReplayError LOCKED if the log is inconsistent and an owner has it open · CORRUPT if the log is damaged · UNSUPPORTED if another version wrote it · IO
 * if it cannot be read
 */
export function peekLog(directory: Directory, options: PeekOptions): Log | undefined {
  let failure: unknown;
  try {
    flushLogs(directory);
    // The newest file contains the head.
    const log = readConsistentlyNow(directory.name, () => openReadOnly(new ReadOnlyDirectory(directory, { isLazy: true }), options));
    if (log !== undefined) return log;
  } catch (error) {
    failure = error;
  }
  if (!hasFiles(directory)) {
    if (failure === undefined || codeOf((failure as Error).cause) === "ENOENT") return undefined;
    throw failure;
  }
  const release = withIoErrors("locking", directory, "", () => directory.lock(() => {}, options.takeOver));
  try {
    return openReadOnly(directory, options);
  } finally {
    release();
  }
}

function openReadOnly(directory: Directory, { salvage = false, module }: PeekOptions): Log | undefined {
  const log = Log.open(directory, { about: {}, readOnly: true, salvage, ...(module && { module }) });
  log.close();
  return log.isNew ? undefined : log;
}

function hasFiles(directory: Directory): boolean {
  try {
    return directory.list().length > 0;
  } catch {
    // The folder does not exist or cannot be listed.
    return false;
  }
}
