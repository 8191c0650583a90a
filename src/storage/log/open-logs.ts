/** Tracks the open logs of this process, which are flushed before another reader opens their directory. */
import type { Directory } from "../../files/directory.ts";

export interface OpenLog {
  /** Whether the log was read to its end. Before that, no bytes can be waiting. */
  readonly isRead: boolean;
  flush(): void;
}

/** The entry of a log. It is emptied when the log is closed. Otherwise the WeakRef would keep the log and its memory alive until the end of the job. */
interface Registration {
  open: { readonly log: OpenLog; readonly directory: Directory } | undefined;
}

const entries = new Set<WeakRef<Registration>>();

/** Registers a log. Returns a function that the log must keep, and call when it is closed. */
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

/** Flushes the open logs of a directory. @throws ReplayError IO if a write or sync failed */
export function flushLogs(directory: Directory): void {
  for (const ref of entries) {
    const open = ref.deref()?.open;
    if (open === undefined) continue;
    const { log, directory: logDirectory } = open;
    const isSame = logDirectory === directory || (logDirectory.path !== undefined && logDirectory.path === directory.path);
    if (isSame && log.isRead) log.flush();
  }
}
