/** Traces the file operations of an owner call by call, so that a test can show a reader the files at any moment between two calls. */
import type { SourceFolder } from "../../src/datasets/formats/sources/source.ts";
import { RldsError } from "../../src/datasets/model/rlds-error.ts";
import type { Directory, StorageFile } from "../../src/files/directory.ts";
import { type MemoryDirectory, memory } from "../../src/files/memory.ts";

/** @param part the completed part of a write, which a signal may interrupt; default: all of it */
export type Change = (files: MemoryDirectory, part?: number) => void;
type Files = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** Records every call that changes a file. */
export class Traced {
  readonly changes: Change[] = [];
  readonly directory: Directory;

  constructor(files: Files = new Map()) {
    const real = memory({ files });
    const note = (change: Change) => {
      change(real);
      this.changes.push(change);
    };
    this.directory = {
      name: real.name,
      list: () => real.list(),
      open: (name, create) => {
        if (create && !real.list().includes(name)) note((to) => to.open(name, true));
        const file = real.open(name, create);
        const at = (to: MemoryDirectory) => to.open(name, true);
        return {
          get size() {
            return file.size;
          },
          read: (into, from) => file.read(into, from),
          write: (from, place) => {
            const bytes = from.slice();
            note((to, part = 1) => at(to).write(bytes.subarray(0, Math.floor(part * bytes.length)), place));
            return bytes.length;
          },
          truncate: (bytes) => note((to) => at(to).truncate(bytes)),
          sync: () => {},
          close: () => {},
        } satisfies StorageFile;
      },
      remove: (name) => note((to) => to.remove(name)),
      lock: () => () => {},
    };
  }
}

/** The files of an owner that continues whenever a reader accesses them. */
export class Live {
  readonly #changes: readonly Change[];
  readonly #files: MemoryDirectory;
  /** The number of changes made so far. */
  at = 0;
  /** The number of calls of the reader so far. */
  calls = 0;

  readonly #pace: (call: number) => number;

  /** @param pace the number of changes made before the k-th call of the reader */
  constructor(changes: readonly Change[], start: number, pace: (call: number) => number) {
    this.#pace = pace;
    this.#changes = changes;
    this.#files = filesAt(changes, start);
    this.at = start;
  }

  /** The view of readers: files by name, which are closed. */
  get directory(): Directory {
    const files = this.#files;
    const opened = (file: StorageFile): StorageFile => ({
      ...file,
      get size() {
        return file.size;
      },
      read: (into, at) => this.#then(() => file.read(into, at)),
    });
    return {
      name: files.name,
      list: () => this.#then(() => files.list()),
      open: (name, create) => this.#then(() => opened(files.open(name, create))),
      remove: () => {
        throw new Error("a reader removes nothing");
      },
      lock: () => () => {},
    };
  }

  #then<T>(call: () => T): T {
    const to = Math.min(this.#changes.length, this.at + this.#pace(this.calls++));
    while (this.at < to) this.#changes[this.at++]?.(this.#files);
    return call();
  }
}

/** Returns the files after `count` changes, without an owner. */
export function filesAt(changes: readonly Change[], count: number): MemoryDirectory {
  const files = memory();
  for (const change of changes.slice(0, count)) change(files);
  return files;
}

/** Returns the same files as a source that is not a system folder. Only its listing and opened files are available immediately. */
export function sourceIn(dir: Directory): SourceFolder {
  return {
    name: dir.name,
    list: async () => dir.list().sort(),
    async open(name) {
      let file: StorageFile;
      try {
        file = dir.open(name, false);
      } catch (error) {
        throw new RldsError("NOT_FOUND", "there is no such file", { file: name }, { cause: error });
      }
      return {
        name,
        size: file.size,
        async read(at, length) {
          const bytes = new Uint8Array(length);
          const got = file.read(bytes, at);
          if (got < length) throw new RldsError("CORRUPT", `the file ends ${length - got} bytes too early`, { file: name });
          return bytes;
        },
        close: async () => {},
      };
    },
  };
}

export interface Pace {
  readonly name: string;
  /** The number of changes made before the k-th call of the reader. */
  readonly changes: (call: number) => number;
}

/** Returns ways to continue while a reader makes `calls` calls: no changes, some before each call, or some or all remaining changes before one of them. */
export function paces(calls: number): Pace[] {
  const steady = [0, 1, 2, 5].map((changes) => ({ name: `${changes} before each call`, changes: () => changes }));
  const bursts = [1, 3, Number.POSITIVE_INFINITY].flatMap((changes) =>
    Array.from({ length: calls }, (_, k) => ({ name: `${changes} before call ${k}`, changes: (call: number) => (call === k ? changes : 0) })),
  );
  return [...steady, ...bursts];
}
