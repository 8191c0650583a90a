/** Locks in the file system: a file that only one can make, and that says who. What a writer that was killed has left is taken over. */

import { nodeModules, ready } from "../../../files/builtins.ts";
import { fateOf, type Holder, holderOf, selfOf } from "../../../files/node-holder.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { busyError } from "./locks.ts";

/** @param file the lock's own path, in a folder that is there @returns what lets go of it @throws RldsError IO */
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

  /** Only what was looked at: another one may have done the same, and made its own. */
  function removeStale(staleHolder: Holder): void {
    const movedPath = `${file}-of-${self.pid}-${self.thread ?? 0}`;
    try {
      fs.renameSync(file, movedPath);
      if (JSON.stringify(holderOf(fs, movedPath)) !== JSON.stringify(staleHolder)) fs.linkSync(movedPath, file);
      fs.unlinkSync(movedPath);
    } catch {
      // Somebody else was faster: then there is a lock again, or none.
    }
  }
}

function describeHolder({ pid, host, since }: Holder, self: Holder): string {
  const time = since === undefined ? "" : ` since ${since}`;
  return pid === self.pid && host === self.host ? `another writer of this process${time}` : `process ${pid}${host === self.host ? "" : ` of ${host}`}${time}`;
}
