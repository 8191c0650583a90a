/** Writes a growing file of records and the file with their spec. */
import { concatArrays } from "../../../base/bytes.ts";
import { mustBe } from "../../../base/error.ts";
import type { Spec } from "../../../schema/spec.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { locksOf } from "../sinks/locks.ts";
import { type Sink, type SinkFile, type SinkFolder, sinkOf } from "../sinks/sink.ts";
import { attempt } from "../sinks/staging.ts";
import { checkInside } from "../sources/source.ts";
import { recordOf } from "../tfds/tfrecord.ts";
import { specRecord } from "./spec-writer.ts";
import { SPEC_ENDING } from "./structured-value.ts";

/** The folder to which files are written. */
export type FileSink = Exclude<Sink, string>;

/** The number of bytes that are buffered before they are written. */
const BUFFER_BYTES = 1 << 18;
const EMPTY = new Uint8Array(0);

/**
 * Writes records in the order of the calls. As in TensorFlow, existing files are truncated and overwritten, even through links. No other writer can open them
 * until this writer is closed. After a failure, every call throws the same error.
 */
export class RecordFile {
  readonly #path: string;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #work: Promise<void>;
  #failure: { readonly error: unknown } | undefined;
  #file: SinkFile | undefined;
  #release: (() => Promise<void>) | undefined;
  #closing: Promise<void> | undefined;

  /** @param to the folder to which the path is relative; undefined for the file system */
  constructor(path: string, to: FileSink | undefined, spec: Spec) {
    this.#path = path;
    this.#work = this.#open(to, spec);
    this.#watch();
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Adds a record. @param parts the record, which must not change afterwards @returns a promise of the write if the buffer is full @throws RldsError IO */
  add(parts: readonly Uint8Array[]): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    for (const part of recordOf(parts)) {
      this.#pending.push(part);
      this.#pendingBytes += part.length;
    }
    return this.#pendingBytes < BUFFER_BYTES ? undefined : this.flush();
  }

  /** Writes the buffer. @throws RldsError IO if the sink fails */
  flush(): Promise<void> {
    const parts = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    const bytes = parts.length === 0 ? EMPTY : concatArrays(parts);
    this.#work = this.#work.then(() => (bytes.length === 0 ? undefined : attempt(this.#path, () => (this.#file as SinkFile).write(bytes))));
    this.#watch();
    return this.#work;
  }

  /** Writes the buffer and closes the file. @throws RldsError IO if the sink fails */
  close(): Promise<void> {
    this.#closing ??= allOf([() => this.flush(), () => this.#letGo()]);
    this.#closing.catch(() => {});
    return this.#closing;
  }

  async #open(to: FileSink | undefined, spec: Spec): Promise<void> {
    const { folder, file } = await sinkOf(to ?? this.#path, [""]);
    const path = to === undefined ? (file as string) : checkInside(this.#path, folder.name);
    const [, below = "", name] = /^(.*\/)?([^/]*)$/.exec(path) as RegExpExecArray;
    const lock = `${below}.incomplete-${name}-lock`;
    this.#release = await attempt(lock, () => (folder.lock ?? locksOf(folder, folder.name))(lock));
    const specPath = `${path}${SPEC_ENDING}`;
    try {
      // Both files are checked before either of them is changed.
      for (const each of [path, specPath]) await attempt(each, async () => folder.checkFile?.(each));
      this.#file = await create(folder, path);
      const specFile = await create(folder, specPath);
      const bytes = concatArrays(specRecord(spec));
      await allOf([() => attempt(specPath, () => specFile.write(bytes)), () => attempt(specPath, () => specFile.close())]);
    } catch (error) {
      await this.#letGo().catch(() => {});
      throw error;
    }
  }

  /** Closes the file and releases its lock. */
  #letGo(): Promise<void> {
    const [file, release] = [this.#file, this.#release];
    this.#file = undefined;
    this.#release = undefined;
    return allOf([async () => file && (await attempt(this.#path, () => file.close())), async () => release && (await attempt(this.#path, () => release()))]);
  }

  /** Handles a rejection of the current work, because no caller may be waiting for it. The next call reports the failure. */
  #watch(): void {
    this.#work.catch((error) => {
      this.#failure ??= { error };
    });
  }
}

/** Runs all tasks in turn, even after a failure. @throws the first error, which may have caused the others */
async function allOf(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: { readonly error: unknown }[] = [];
  for (const task of tasks) await task().catch((error) => failures.push({ error }));
  const [first] = failures;
  if (first !== undefined) throw first.error;
}

async function create(folder: SinkFolder, path: string): Promise<SinkFile> {
  return attempt(path, async () => {
    if (folder.truncate !== undefined) return folder.truncate(path);
    await folder.remove(path);
    return folder.create(path);
  });
}

/** Checks that a path stays inside its folder. @throws RangeError if the path leads out of its folder */
export function checkPathInside(path: string): void {
  try {
    checkInside(path, "to");
  } catch {
    throw mustBe(RangeError, "outputPath", "the relative path of a file in the folder, with forward slashes", path);
  }
}

/** Returns the error for a call after `close`. */
export function closedError(file: string): RldsError {
  return new RldsError("CLOSED", "the observer is closed. Create a new one", { file });
}
