/** Makes files appear together. They are written under temporary names and renamed when all files are complete. */
import { RldsError } from "../../model/rlds-error.ts";
import { locksOf } from "./locks.ts";
import type { SinkFile, SinkFolder } from "./sink-folder.ts";

/** The prefix of temporary files, which identifies the remains of an interrupted write. Readers ignore these files. */
const STAGED = ".incomplete-";
const LOCK = "lock";
const BUFFER = 1 << 18;
const EMPTY = new Uint8Array(0);

/** A file under construction. Small writes are buffered. */
export class StagedFile {
  /** The number of bytes that were written so far. */
  bytes = 0;
  readonly path: string;
  readonly #file: SinkFile;
  #buffer = new Uint8Array(BUFFER);
  #length = 0;
  #closed = false;

  constructor(path: string, file: SinkFile) {
    this.path = path;
    this.#file = file;
  }

  /** Writes or buffers bytes. @throws RldsError IO if the sink fails */
  async write(bytes: Uint8Array): Promise<void> {
    this.bytes += bytes.length;
    if (this.#length + bytes.length > BUFFER) await this.#flush();
    if (bytes.length > BUFFER) return attempt(this.path, () => this.#file.write(bytes));
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Writes the buffer and closes the file. @throws RldsError IO if the sink fails */
  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#flush();
    this.#closed = true;
    this.#buffer = EMPTY;
    await attempt(this.path, () => this.#file.close());
  }

  /** Abandons the file. Its content is removed later. */
  async abandon(): Promise<void> {
    if (!this.#closed) await this.#file.close().catch(() => {});
    this.#closed = true;
  }

  async #flush(): Promise<void> {
    const length = this.#length;
    this.#length = 0;
    if (length > 0) await attempt(this.path, () => this.#file.write(this.#buffer.subarray(0, length)));
  }
}

export class Staging {
  readonly #sink: SinkFolder;
  readonly #folder: string;
  readonly #single: string;
  readonly #files: StagedFile[] = [];
  /** The subfolders in which files were created. */
  readonly #below = new Set<string>();

  /**
   * Runs a task that writes files, and excludes other writers until the task ends. If the task fails, its files are removed.
   * @param folder the folder in the sink; "" for the sink itself
   * @param single the only file that is written, if other files may be written next to it at the same time
   */
  static async run<T>(sink: SinkFolder, folder: string, single: string | undefined, task: (staging: Staging) => Promise<T>): Promise<T> {
    const staging = new Staging(sink, folder, single);
    const release = await staging.#lock();
    try {
      await staging.#clear();
      return await task(staging);
    } catch (error) {
      await staging.discard();
      throw error;
    } finally {
      await release();
    }
  }

  private constructor(sink: SinkFolder, folder: string, single?: string) {
    this.#sink = sink;
    this.#folder = folder;
    this.#single = single === undefined ? "" : `${single}-`;
  }

  /** Lists the files in the folder or in a subfolder, except the remains of interrupted writes. */
  async list(below = ""): Promise<readonly string[]> {
    const folder = this.#at(below);
    const paths = await attempt(folder, () => this.#sink.list(folder));
    return paths.filter((path) => !path.slice(path.lastIndexOf("/") + 1).startsWith(STAGED));
  }

  /** Creates a file under a temporary name. @param below the subfolder of its final name @throws RldsError IO if the sink fails */
  async create(below = ""): Promise<StagedFile> {
    if (below !== "" && !this.#below.has(below)) await this.#clear(below);
    this.#below.add(below);
    const path = this.#at(`${below === "" ? "" : `${below}/`}${STAGED}${this.#single}${this.#files.length}`);
    const file = new StagedFile(path, await attempt(path, () => this.#sink.create(path)));
    this.#files.push(file);
    return file;
  }

  /**
   * Closes every file, removes replaced files, and gives the files their final names in order. The file by which readers find the other files must be last.
   * @param names one name per file in the order of `create`, with its subfolder
   * @returns the paths in the sink
   */
  async commit(names: readonly string[], replaced: readonly string[] = []): Promise<string[]> {
    for (const file of this.#files) await file.close();
    for (const path of [...replaced].reverse()) await attempt(path, () => this.#sink.remove(path));
    const done: string[] = [];
    try {
      for (const [i, file] of this.#files.entries()) {
        const path = this.#at(names[i] as string);
        await attempt(path, () => this.#sink.rename(file.path, path));
        done.push(path);
      }
    } catch (error) {
      for (const path of done) await this.#sink.remove(path).catch(() => {});
      throw error;
    }
    return done;
  }

  /** Removes the written files. Never throws, because it is called after a failure. */
  async discard(): Promise<void> {
    for (const file of this.#files) {
      await file.abandon();
      await this.#sink.remove(file.path).catch(() => {});
    }
  }

  #lock(): Promise<() => Promise<void>> {
    const path = this.#at(`${STAGED}${this.#single}${LOCK}`);
    return attempt(path, () => (this.#sink.lock ?? locksOf(this.#sink, this.#sink.name))(path));
  }

  /** Removes the remains of an interrupted write. */
  async #clear(below = ""): Promise<void> {
    const folder = this.#at(below);
    const start = `${folder === "" ? "" : `${folder}/`}${STAGED}${this.#single}`;
    const staleFolders = (await this.#sink.list(folder)).filter((path) => path.startsWith(start) && /^\d+$/.test(path.slice(start.length)));
    for (const path of staleFolders) await attempt(path, () => this.#sink.remove(path));
  }

  #at(name: string): string {
    return this.#folder === "" || name === "" ? this.#folder + name : `${this.#folder}/${name}`;
  }
}

/** Runs a task on a file. @throws RldsError IO with the name of the file if the sink fails */
export async function attempt<T>(file: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (cause) {
    if (cause instanceof RldsError) throw cause;
    const code = (cause as { code?: string } | null)?.code;
    const reason =
      code === "ENOSPC"
        ? "the disk is full. Free space on it, and write the dataset again"
        : `the file cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new RldsError("IO", reason, { file }, { cause });
  }
}
