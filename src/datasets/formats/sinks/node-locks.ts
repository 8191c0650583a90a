/**
 * Implements locks in the file system. A lock is a file that only one process can create and that identifies this process. The lock of a killed writer is taken
 * over.
 */

import { nodeModules, ready } from "../../../files/builtins.ts";
import { fateOf, type Holder, holderOf, selfOf } from "../../../files/node-holder.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { busyError } from "./locks.ts";

/**
 * Creates a lock file. @param file its path in an existing folder @returns a function that releases the lock
 * @throws RldsError IO if another writer holds the lock
 */
export async function lockFile(file: string): Promise<() => void> {
  await ready;
  const builtins = nodeModules();
  const { fs } = builtins;
  const self = selfOf(builtins);
  const make = () => {
    try {
      fs.writeFileSync(file, JSON.stringify(self), { flag: "wx" });
      return true;
    } catch (cause) {
      if ((cause as { code?: string }).code === "EEXIST") return false;
      throw new RldsError("IO", `the file cannot be written: ${(cause as Error).message}`, { file }, { cause });
    }
  };
  if (!make()) {
    const holder = holderOf(fs, file);
    if (holder !== undefined && fateOf(holder, self, builtins) !== "gone")
      throw busyError(file, describeHolder(holder, self), file.slice(file.lastIndexOf("/") + 1));
    if (holder !== undefined) removeStale(holder);
    if (!make()) throw busyError(file, "another writer");
  }
  return () => fs.unlinkSync(file);

  /** Removes a stale lock. Removes only the lock that was inspected, because another process may have replaced it. */
  function removeStale(staleHolder: Holder): void {
    const movedPath = `${file}-of-${self.pid}-${self.thread ?? 0}`;
    try {
      fs.renameSync(file, movedPath);
      if (JSON.stringify(holderOf(fs, movedPath)) !== JSON.stringify(staleHolder)) fs.linkSync(movedPath, file);
      fs.unlinkSync(movedPath);
    } catch {
      // Another process was faster. The next attempt shows whether a lock exists.
    }
  }
}

function describeHolder({ pid, host, since }: Holder, self: Holder): string {
  const time = since === undefined ? "" : ` since ${since}`;
  return pid === self.pid && host === self.host ? `another writer of this process${time}` : `process ${pid}${host === self.host ? "" : ` of ${host}`}${time}`;
}
