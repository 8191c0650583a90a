/** Implements a file of a pool. The first page stores the name under which the file is in use, so an existing file can be taken without waiting. */
import { closable, type StorageFile } from "./directory.ts";

/** The part of a browser's open file that Reprise uses. */
export interface SyncHandle {
  read(into: Uint8Array, options: { at: number }): number;
  write(from: Uint8Array, options: { at: number }): number;
  truncate(bytes: number): void;
  flush(): void;
  getSize(): number;
  close(): void;
}

const PAGE = 4096;
const MARK = "RPRFILE1";
const NAME = /^[\w.-]{1,100}$/;

export class PoolFile {
  /** The name under which the file is in use. Undefined for a spare file. */
  name: string | undefined;
  readonly #handle: SyncHandle;

  constructor(handle: SyncHandle) {
    this.#handle = handle;
    const page = new Uint8Array(MARK.length + 1 + 100);
    const text = new TextDecoder().decode(page.subarray(0, handle.read(page, { at: 0 })));
    const name = text.startsWith(MARK) ? text.slice(MARK.length, text.indexOf("\n")) : "";
    this.name = NAME.test(name) ? name : undefined;
    if (this.name === undefined) handle.truncate(0);
  }

  take(name: string): void {
    if (!NAME.test(name)) throw new RangeError(`${name} is not a valid file name`);
    const page = new Uint8Array(PAGE);
    page.set(new TextEncoder().encode(`${MARK}${name}\n`));
    // The first sync of the file's contents also syncs this page. Before that sync, the page does not matter.
    if (this.#handle.write(page, { at: 0 }) !== PAGE) throw Object.assign(new Error("the disk accepted only part of the data"), { code: "ENOSPC" });
    this.name = name;
  }

  release(): void {
    this.name = undefined;
    this.#handle.truncate(0);
    this.#handle.flush();
  }

  /** Opens the contents of the file, which start after its first page. */
  open(): StorageFile {
    const handle = this.#handle;
    return closable(this.name as string, {
      size: () => handle.getSize() - PAGE,
      read: (into, at) => handle.read(into, { at: at + PAGE }),
      write: (from, at) => handle.write(from, { at: at + PAGE }),
      truncate: (bytes) => handle.truncate(bytes + PAGE),
      sync: () => handle.flush(),
    });
  }

  close(): void {
    this.#handle.close();
  }
}
