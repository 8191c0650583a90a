/** The logs of this process that are written to, as long as somebody has them: whoever reads their directory is to find what they have. */
import type { Directory } from "../../files/directory.ts";

export interface Writing {
  /** Before that nothing can have been written. */
  readonly isRead: boolean;
  flush(): void;
}

/** What a log has of its own here. Empty when it is closed: what a WeakRef names lives until the job ends, and a log has memory. */
interface Entry {
  open: { readonly log: Writing; readonly directory: Directory } | undefined;
}

const entries = new Set<WeakRef<Entry>>();

/** Returns what the log calls when it is closed, and keeps until then. */
export function noteWriter(directory: Directory, log: Writing): () => void {
  for (const ref of entries) if (ref.deref() === undefined) entries.delete(ref);
  const entry: Entry = { open: { log, directory } };
  const ref = new WeakRef(entry);
  entries.add(ref);
  return () => {
    entry.open = undefined;
    entries.delete(ref);
  };
}

/** @throws ReplayError IO */
export function flushWriters(directory: Directory): void {
  for (const ref of entries) {
    const open = ref.deref()?.open;
    if (open === undefined) continue;
    const { log, directory: own } = open;
    const isSame = own === directory || (own.path !== undefined && own.path === directory.path);
    if (isSame && log.isRead) log.flush();
  }
}
