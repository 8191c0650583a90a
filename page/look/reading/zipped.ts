/** Writes files as one zip, on the browser's private disk if available, so that neither the files nor the zip has to fit into memory. */
import { Zip } from "fflate";
import { RldsError, type Sink, type WriteReport } from "reprise/rlds";
import { MAX_ZIP, zipEntry } from "../../parts/zip-entry.ts";
import { exportsFolder, hold, removeLeft } from "../private-disk.ts";

const PIECE = 1 << 20;

export interface Zipped {
  readonly report: WriteReport;
  readonly zip: Blob;
  /** The name of the zip on the private disk, which stores the zip until it is removed. */
  readonly onDisk?: string;
}

/**
 * @param folder the folder in the zip that contains all files @param write writes the files @param tell receives the bytes of the zip so far @throws RldsError
 * UNSUPPORTED beyond the maximum size of a zip
 */
export async function zipped(
  folder: string,
  write: (to: Sink) => Promise<WriteReport>,
  signal: AbortSignal,
  tell: (bytes: number, report: WriteReport) => void,
): Promise<Zipped> {
  const disk = await exportsFolder(true);
  const place = disk === undefined ? new InMemory() : await OnDisk.make(disk);
  try {
    const report = await write(place.sink);
    if (report.bytes > MAX_ZIP)
      throw new RldsError("UNSUPPORTED", `a zip file is limited to 4 GiB, but the files need ${report.bytes} bytes. Use a browser that can write to a folder`);
    const out = await place.output();
    try {
      await pack(folder, report, place, out, signal, (bytes) => tell(bytes, report));
      return { report, zip: await out.done(), onDisk: out.name };
    } catch (error) {
      out.drop();
      throw error;
    }
  } finally {
    await place.clear();
  }
}

async function pack(folder: string, { files }: WriteReport, place: Place, out: Output, signal: AbortSignal, tell: (bytes: number) => void): Promise<void> {
  const zip = new Zip();
  let bytes = 0;
  let failure: unknown;
  zip.ondata = (error, chunk) => {
    failure ??= error ?? undefined;
    if (failure === undefined) out.write(chunk);
    bytes += chunk?.length ?? 0;
  };
  for (const path of files) {
    const entry = zipEntry(`${folder}/${path}`, true);
    zip.add(entry);
    const blob = await place.file(path);
    for (let at = 0; at < blob.size || at === 0; at += PIECE) {
      signal.throwIfAborted();
      entry.push(new Uint8Array(await blob.slice(at, at + PIECE).arrayBuffer()), at + PIECE >= blob.size);
      if (failure !== undefined) throw failure;
      tell(bytes);
    }
  }
  zip.end();
  if (failure !== undefined) throw failure;
}

interface Output {
  /** The name on the private disk. */
  readonly name?: string;
  write(bytes: Uint8Array): void;
  done(): Promise<Blob>;
  /** Discards the zip. */
  drop(): void;
}

interface Place {
  readonly sink: Sink;
  file(path: string): Promise<Blob>;
  output(): Promise<Output>;
  /** Removes the files, but not the zip. */
  clear(): Promise<void>;
}

class OnDisk implements Place {
  readonly #home: FileSystemDirectoryHandle;
  readonly #name: string;
  readonly #files: FileSystemDirectoryHandle;

  private constructor(home: FileSystemDirectoryHandle, name: string, files: FileSystemDirectoryHandle) {
    this.#home = home;
    this.#name = name;
    this.#files = files;
  }

  static async make(home: FileSystemDirectoryHandle): Promise<OnDisk> {
    await removeLeft();
    const name = crypto.randomUUID();
    // The name is held for the life of this worker. The page receives the zip, and holds the name before the worker ends.
    await hold(name);
    return new OnDisk(home, name, await home.getDirectoryHandle(name, { create: true }));
  }

  get sink(): Sink {
    return this.#files as unknown as Sink;
  }

  async file(path: string): Promise<Blob> {
    const names = path.split("/");
    let folder = this.#files;
    for (const name of names.slice(0, -1)) folder = await folder.getDirectoryHandle(name);
    return (await folder.getFileHandle(names.at(-1) as string)).getFile();
  }

  async output(): Promise<Output> {
    const handle = await this.#home.getFileHandle(`${this.#name}.zip`, { create: true });
    const access = await (
      handle as unknown as { createSyncAccessHandle(): Promise<{ write(bytes: Uint8Array): number; flush(): void; close(): void }> }
    ).createSyncAccessHandle();
    return {
      name: handle.name,
      write: (bytes) => void access.write(bytes),
      async done() {
        access.flush();
        access.close();
        return handle.getFile();
      },
      drop: () => {
        access.close();
        void this.#home.removeEntry(handle.name).catch(() => undefined);
      },
    };
  }

  async clear(): Promise<void> {
    await this.#home.removeEntry(this.#name, { recursive: true });
  }
}

class InMemory implements Place {
  readonly sink = new Map<string, Uint8Array>();

  async file(path: string): Promise<Blob> {
    return new Blob([this.sink.get(path) as Uint8Array<ArrayBuffer>]);
  }

  async output(): Promise<Output> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    return {
      write: (bytes) => void parts.push(bytes as Uint8Array<ArrayBuffer>),
      done: async () => new Blob(parts, { type: "application/zip" }),
      drop: () => void parts.splice(0),
    };
  }

  async clear(): Promise<void> {
    this.sink.clear();
  }
}
