/** The open logs of this process: they are flushed before somebody reads their directory. */
import type { Directory } from "../../files/directory.ts";

export interface OpenLog {
  /** Before that nothing can have been written. */
  readonly isRead: boolean;
  flush(): void;
}

/** What a log has of its own here. Empty when it is closed: what a WeakRef names lives until the job ends, and a log has memory. */
interface Registration {
  open: { readonly log: OpenLog; readonly directory: Directory } | undefined;
}

const entries = new Set<WeakRef<Registration>>();

/** Returns what the log calls when it is closed, and keeps until then. */
export function registerLog(directory: Directory, log: OpenLog): () => void {
  for (const ref of entries) if (ref.deref() === undefined) entries.delete(ref);
  const entry: Registration = { open: { log, directory } };
  const ref = new WeakRef(entry);
  entries.add(ref);
  return () => {
    entry.open = undefined;
    entries.delete(ref);
  };
}

/** @throws ReplayError IO */
export function flushLogs(directory: Directory): void {
  for (const ref of entries) {
    const open = ref.deref()?.open;
    if (open === undefined) continue;
    const { log, directory: logDirectory } = open;
    const isSame = logDirectory === directory || (logDirectory.path !== undefined && logDirectory.path === directory.path);
    if (isSame && log.isRead) log.flush();
  }
}
