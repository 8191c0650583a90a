/** The logs of this process that are written to, as long as somebody has them: whoever reads their directory is to find what they have. */
import type { Directory } from "../directory/directory.ts";

export interface Writing {
  readonly closed: boolean;
  /** Before that nothing can have been written. */
  readonly isRead: boolean;
  flush(): void;
}

const writers = new Map<WeakRef<Writing>, Directory>();

export function noteWriter(directory: Directory, log: Writing): void {
  for (const writer of writers.keys()) if (writer.deref()?.closed !== false) writers.delete(writer);
  writers.set(new WeakRef(log), directory);
}

/** @throws ReplayError IO */
export function flushWriters(directory: Directory): void {
  for (const [writer, own] of writers) {
    const log = writer.deref();
    const isSame = own === directory || (own.path !== undefined && own.path === directory.path);
    if (isSame && log?.closed === false && log.isRead) log.flush();
  }
}
