/** The logs of this process that are written to, as long as somebody has them: whoever reads their directory is to find what they have. */

export interface Writing {
  readonly closed: boolean;
  /** Before that nothing can have been written. */
  readonly isRead: boolean;
  flush(): void;
}

const writers = new Map<WeakRef<Writing>, string>();

/** @param name of its directory */
export function noteWriter(name: string, log: Writing): void {
  for (const writer of writers.keys()) if (writer.deref()?.closed !== false) writers.delete(writer);
  writers.set(new WeakRef(log), name);
}

/** @throws ReplayError IO */
export function flushWriters(name: string): void {
  for (const [writer, own] of writers) {
    const log = writer.deref();
    if (own === name && log?.closed === false && log.isRead) log.flush();
  }
}
