/** Implements a directory in memory for tests, with injected faults and simulated crashes. */
import { onlyKeys } from "../base/error.ts";
import { closable, type Directory, type StorageFile } from "./directory.ts";
import { type FileChange, type MemoryFile, MemoryFiles } from "./memory-files.ts";

/** A call that the directory is about to execute. */
export interface Operation {
  readonly kind: "open" | "read" | "write" | "truncate" | "sync" | "remove";
  readonly file: string;
  /** The number of earlier calls of this kind in the whole directory. */
  readonly index: number;
  /** The offset in the file, in bytes. */
  readonly at: number;
  readonly bytes: number;
}

/**
 * A fault to inject into a call. With a code, the call throws an error with this code, and a write first writes `bytes` bytes. Without a code, a read or write
 * transfers at most `bytes` bytes.
 */
export interface Fault {
  readonly code?: "ENOSPC" | "EIO";
  readonly bytes?: number;
}

export interface MemoryOptions {
  readonly name?: string;
  /** The initial files, which are already synced to the simulated disk. */
  readonly files?: Iterable<readonly [name: string, bytes: Uint8Array]>;
  /** Returns the fault of an operation, or undefined for none. Called before each operation. */
  readonly fault?: ((operation: Operation) => Fault | undefined) | undefined;
}

export interface MemoryDirectory extends Directory {
  /** Returns each file's bytes as a program sees them. */
  files(): Map<string, Uint8Array<ArrayBuffer>>;
  /** The number of bytes in all files that are written but not synced. */
  readonly unsynced: number;
  /**
   * Returns a new directory with the contents of the disk after a crash. The disk contains all synced data, and the effects of the unsynced operations in
   * order, up to `unsyncedBytes` written bytes. Default: 0, so that all unsynced operations are lost.
   */
  crash(unsyncedBytes?: number): MemoryDirectory;
}

export function memory(options: MemoryOptions = {}): MemoryDirectory {
  return new Memory(onlyKeys("memory", options, "name, files, fault"));
}

class Memory implements MemoryDirectory {
  readonly name: string;
  readonly #options: MemoryOptions;
  readonly #files = new MemoryFiles();
  readonly #onDisk = new MemoryFiles();
  #changes: FileChange[] = [];
  readonly #counts = new Map<string, number>();
  #owner: (() => void) | undefined;

  constructor(options: MemoryOptions) {
    this.name = options.name ?? "memory";
    this.#options = options;
    for (const [name, bytes] of options.files ?? []) for (const files of [this.#files, this.#onDisk]) files.apply({ kind: "write", file: name, at: 0, bytes });
  }

  list(): string[] {
    return this.#files.names();
  }

  open(name: string, create: boolean): StorageFile {
    this.#nextFault("open", name, 0, 0);
    if (!this.#files.has(name)) {
      if (!create) throw codeError("ENOENT");
      this.#change({ kind: "open", file: name });
    }
    const file = this.#files.file(name);
    return closable(name, {
      size: () => file.size,
      read: (into, at) => this.#read(name, file, into, at),
      write: (from, at) => this.#write(name, from, at),
      truncate: (bytes) => {
        this.#nextFault("truncate", name, bytes, 0);
        this.#change({ kind: "truncate", file: name, bytes });
      },
      sync: () => this.#sync(name),
    });
  }

  remove(name: string): void {
    this.#nextFault("remove", name, 0, 0);
    this.#change({ kind: "remove", file: name });
  }

  lock(onTakeover: () => void): () => void {
    this.#owner?.();
    this.#owner = onTakeover;
    return () => {
      if (this.#owner === onTakeover) this.#owner = undefined;
    };
  }

  files(): Map<string, Uint8Array<ArrayBuffer>> {
    return new Map(this.#files.names().map((name) => [name, this.#files.bytes(name).slice()]));
  }

  get unsynced(): number {
    return this.#changes.reduce((sum, change) => sum + (change.kind === "write" ? change.bytes.length : 0), 0);
  }

  crash(unsyncedBytes = 0): MemoryDirectory {
    const survivor = this.#onDisk.copy();
    let bytes = unsyncedBytes;
    for (const change of this.#changes) {
      if (bytes <= 0) break;
      survivor.apply(change.kind === "write" ? { ...change, bytes: change.bytes.subarray(0, bytes) } : change);
      if (change.kind === "write") bytes -= change.bytes.length;
    }
    return memory({ name: this.name, files: survivor.names().map((name) => [name, survivor.bytes(name)]) });
  }

  #read(name: string, file: MemoryFile, into: Uint8Array, at: number): number {
    const fault = this.#nextFault("read", name, at, into.length);
    const bytes = file.bytes.subarray(at, Math.min(file.size, at + Math.min(into.length, fault?.bytes ?? into.length)));
    into.set(bytes);
    return bytes.length;
  }

  #write(name: string, from: Uint8Array, at: number): number {
    const fault = this.#nextFault("write", name, at, from.length, true);
    const bytes = from.slice(0, fault === undefined ? from.length : (fault.bytes ?? 0));
    if (bytes.length > 0) this.#change({ kind: "write", file: name, at, bytes });
    if (fault?.code !== undefined) throw codeError(fault.code);
    return bytes.length;
  }

  #sync(name: string): void {
    this.#nextFault("sync", name, 0, 0);
    const isOfFile = (change: FileChange) => change.file === name;
    for (const change of this.#changes.filter(isOfFile)) this.#onDisk.apply(change);
    this.#changes = this.#changes.filter((change) => !isOfFile(change));
  }

  #change(change: FileChange): void {
    this.#files.apply(change);
    this.#changes.push(change);
  }

  /** Counts a call, and returns its fault, if any. @param isPartial whether the caller itself throws the fault's error, after a partial operation */
  #nextFault(kind: Operation["kind"], file: string, at: number, bytes: number, isPartial = false): Fault | undefined {
    const index = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, index + 1);
    const fault = this.#options.fault?.({ kind, file, index, at, bytes });
    if (fault?.code !== undefined && !isPartial) throw codeError(fault.code);
    return fault;
  }
}

function codeError(code: string): Error {
  return Object.assign(new Error(`${code}: the simulated disk failed`), { code });
}
