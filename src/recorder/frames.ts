/** Where a step's frames go: to the log, or to files beside, which are on the disk before the log says so. */

import { crc32c } from "../base/crc32c.ts";
import { ReplayError } from "../base/error.ts";
import { RECORDED_FRAME } from "../base/kinds.ts";
import type { FrameEncoder } from "../datasets/formats/images/frame-png.ts";
import type { RecordingAbout } from "../datasets/model/recording/about.ts";
import { FrameNames, frameOf } from "../datasets/model/recording/frame-files.ts";
import type { FrameLeaf, RowLayout } from "../datasets/model/recording/row-layout.ts";
import type { Directory, StorageFile } from "../files/directory.ts";
import { ioError, withIoErrors } from "../files/io-errors.ts";
import type { Log } from "../storage/log/log.ts";

/** Files that are open until they are synced: a process may have about a thousand. */
const MAX_OPEN = 256;

export class Frames {
  readonly #directory: Directory;
  readonly #leaves: readonly FrameLeaf[];
  readonly #encode: FrameEncoder | undefined;
  readonly #names: FrameNames | undefined;
  readonly #unsynced = new Map<string, StorageFile>();
  /** Those of the group that is written. */
  readonly #groupFiles: string[] = [];
  #syncError: Error | undefined;

  /** @param encode of PNG; none for raw pixels */
  constructor(directory: Directory, { frames }: RowLayout, { images, imagesIn }: RecordingAbout, encode: FrameEncoder | undefined) {
    this.#directory = directory;
    this.#leaves = frames;
    this.#encode = encode;
    if (imagesIn === "files" && frames.length > 0) this.#names = new FrameNames(frames, images);
  }

  /** Whether a sync failed. */
  get broken(): boolean {
    return this.#syncError !== undefined;
  }

  /** @throws ReplayError IO where a sync failed before */
  check(): void {
    if (this.#syncError !== undefined) throw ioError(`${this.#syncError.message}; nobody knows what is on the disk: open it again`, this.#syncError);
  }

  /** Writes a step's frames. @throws ReplayError IO: then `takeBack` removes what is there of them */
  write(log: Log, pixels: readonly Uint8Array[], episode: number, step: number): void {
    for (const { camera, leaf } of this.#leaves) {
      const [height, width, channels] = leaf.shape as readonly [number, number, number];
      const frame = pixels[camera] as Uint8Array;
      const bytes = this.#encode?.(frame, width, height, channels) ?? frame;
      if (this.#names === undefined) log.write(RECORDED_FRAME, camera, bytes);
      else log.write(RECORDED_FRAME, camera, this.#file(this.#names.of(episode, step, camera), bytes));
    }
  }

  /** From here on `takeBack` removes what comes. */
  mark(): void {
    this.#groupFiles.length = 0;
  }

  takeBack(): void {
    for (const name of this.#groupFiles.splice(0)) {
      this.#unsynced.get(name)?.close();
      this.#unsynced.delete(name);
      try {
        this.#directory.remove(name);
      } catch {
        // It is written over, or removed when the recording is opened again.
      }
    }
  }

  /** Has all files on the disk. @throws ReplayError IO; then nobody knows what is there, now and for ever */
  sync(): void {
    this.check();
    for (const [name, file] of this.#unsynced) {
      try {
        withIoErrors("syncing", this.#directory, name, () => file.sync());
      } catch (error) {
        this.#syncError = error as Error;
        throw error;
      }
    }
    this.close();
  }

  /** Lets go of the files. */
  close(): void {
    for (const file of this.#unsynced.values()) file.close();
    this.#unsynced.clear();
  }

  /** Removes files that a crash left without their steps: of episodes from `next` on, and of the one before from its end on. */
  removeOrphans(next: number, length: number): void {
    if (this.#names === undefined) return;
    for (const name of withIoErrors("listing", this.#directory, "", () => this.#directory.list())) {
      const found = frameOf(name);
      const isOrphan = found !== undefined && (found.episode >= next || (found.episode === next - 1 && found.step >= length));
      if (isOrphan) withIoErrors("removing", this.#directory, name, () => this.#directory.remove(name));
    }
  }

  /** What the log says of a file: its bytes and their sum. */
  #file(name: string, bytes: Uint8Array): Uint8Array {
    if (this.#unsynced.size >= MAX_OPEN) this.sync();
    withIoErrors("writing", this.#directory, name, () => this.#directory.check?.());
    const file = withIoErrors("opening", this.#directory, name, () => this.#directory.open(name, true));
    this.#groupFiles.push(name);
    try {
      withIoErrors("writing", this.#directory, name, () => {
        if (file.size > 0) file.truncate(0);
        for (let done = 0; done < bytes.length; ) {
          const written = file.write(bytes.subarray(done), done);
          if (!(written > 0)) throw new ReplayError("IO", `writing ${this.#directory.name}/${name} failed: nothing was taken`);
          done += written;
        }
      });
    } catch (error) {
      file.close();
      throw error;
    }
    this.#unsynced.set(name, file);
    const summary = new DataView(new ArrayBuffer(8));
    summary.setUint32(0, bytes.length, true);
    summary.setUint32(4, crc32c(bytes), true);
    return new Uint8Array(summary.buffer);
  }
}
