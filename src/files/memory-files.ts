/** Stores the contents of a directory in memory: the names and bytes of its files. */

export type FileChange =
  | { readonly kind: "open" | "remove"; readonly file: string }
  | { readonly kind: "write"; readonly file: string; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: "truncate"; readonly file: string; readonly bytes: number };

/** A file in memory. The array of bytes has room to grow, so the size of the file is stored separately. */
export interface MemoryFile {
  bytes: Uint8Array;
  size: number;
}

export class MemoryFiles {
  readonly #files = new Map<string, MemoryFile>();

  names(): string[] {
    return [...this.#files.keys()];
  }

  has(name: string): boolean {
    return this.#files.has(name);
  }

  /** Returns an existing file. The returned object remains readable after the file is removed. */
  file(name: string): MemoryFile {
    return this.#files.get(name) as MemoryFile;
  }

  bytes(name: string): Uint8Array {
    const { bytes, size } = this.#files.get(name) ?? { bytes: new Uint8Array(0), size: 0 };
    return bytes.subarray(0, size);
  }

  copy(): MemoryFiles {
    const copy = new MemoryFiles();
    for (const [name, { bytes, size }] of this.#files) copy.#files.set(name, { bytes: bytes.slice(0, size), size });
    return copy;
  }

  apply(change: FileChange): void {
    if (change.kind === "remove") {
      this.#files.delete(change.file);
      return;
    }
    const file = this.#files.get(change.file) ?? { bytes: new Uint8Array(0), size: 0 };
    this.#files.set(change.file, file);
    if (change.kind === "write") {
      this.#resize(file, Math.max(file.size, change.at + change.bytes.length));
      file.bytes.set(change.bytes, change.at);
    } else if (change.kind === "truncate") this.#resize(file, change.bytes);
  }

  #resize(file: MemoryFile, size: number): void {
    if (size > file.bytes.length) {
      const larger = new Uint8Array(Math.max(size, 2 * file.bytes.length));
      larger.set(file.bytes.subarray(0, file.size));
      file.bytes = larger;
    }
    file.bytes.fill(0, Math.min(size, file.size), Math.max(size, file.size));
    file.size = size;
  }
}
