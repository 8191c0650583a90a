/** Implements a log in one file with a chosen name, as `save` writes it. */
import { mustBe } from "../../base/error.ts";
import { type Directory, node, type StorageFile } from "../../storage/index.ts";

/** The destination of a save: the path of a file, or a custom directory and the name of a file in it. */
export type SaveTarget = string | { readonly directory: Directory; readonly file: string };

export interface Target {
  readonly directory: Directory;
  readonly file: string;
}

/** Returns the directory and the file name of a destination. @throws TypeError if it has another form · ReplayError UNSUPPORTED if the runtime has no files */
export function targetOf(target: SaveTarget): Target {
  if (typeof target === "string" && target !== "") {
    const at = Math.max(target.lastIndexOf("/"), target.lastIndexOf("\\"));
    if (at < target.length - 1) return { directory: node(at < 0 ? "." : target.slice(0, at) || "/"), file: target.slice(at + 1) };
  }
  const { directory, file } = (target ?? {}) as Target;
  if (typeof directory?.open === "function" && typeof file === "string" && file !== "") return { directory, file };
  throw mustBe(TypeError, "file", "the path of a file, or { directory, file }", target);
}

/**
 * The name of a segment in a log, such as `00000002.rpr`. A `SingleFile` stores the first segment in the chosen file. It stores each other segment in a file
 * whose name is the chosen name followed by a dot and the segment's number.
 */
const SEGMENT = /^(\d+)\.rpr$/;

/** A directory with one log, stored in files that begin with a chosen name. */
export class SingleFile implements Directory {
  readonly name: string;
  readonly #directory: Directory;
  readonly #file: string;

  constructor(directory: Directory, file: string) {
    this.name = `${directory.name}/${file}`;
    this.#directory = directory;
    this.#file = file;
  }

  list(): string[] {
    return this.#directory.list().flatMap((name) => {
      const number = name === this.#file ? 1 : name.startsWith(`${this.#file}.`) ? Number(name.slice(this.#file.length + 1)) : 0;
      return Number.isInteger(number) && number > 0 ? [`${String(number).padStart(8, "0")}.rpr`] : [];
    });
  }

  open(name: string, create: boolean): StorageFile {
    return this.#directory.open(this.#toFileName(name), create);
  }

  remove(name: string): void {
    this.#directory.remove(this.#toFileName(name));
  }

  /** Does nothing, because `saveFile` already rejects a second save to the same file in this process. */
  lock(): () => void {
    return () => {};
  }

  /** Removes all segments. */
  clear(): void {
    for (const name of this.list()) this.remove(name);
  }

  #toFileName(name: string): string {
    const number = Number(SEGMENT.exec(name)?.[1]);
    return number === 1 ? this.#file : `${this.#file}.${number}`;
  }
}
