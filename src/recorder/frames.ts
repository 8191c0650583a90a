/** Stores the frames of steps in the log or in separate files. Separate files are synced before the log refers to them. */

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

/** The maximum number of files that are open until they are synced. A process can typically open about a thousand files. */
const MAX_OPEN = 256;

export class Frames {
  readonly #directory: Directory;
  readonly #leaves: readonly FrameLeaf[];
  readonly #encode: FrameEncoder | undefined;
  readonly #names: FrameNames | undefined;
  readonly #unsynced = new Map<string, StorageFile>();
  /** The names of the frame files written since the last call to `mark`. */
  readonly #groupFiles: string[] = [];
  #syncError: Error | undefined;

  /** @param encode the PNG encoder; undefined for raw pixels */
  constructor(directory: Directory, { frames }: RowLayout, { images, imagesIn }: RecordingAbout, encode: FrameEncoder | undefined) {
    this.#directory = directory;
    this.#leaves = frames;
    this.#encode = encode;
    if (imagesIn === "files" && frames.length > 0) this.#names = new FrameNames(frames, images);
  }

  /** Whether syncing a frame file failed. */
  get broken(): boolean {
    return this.#syncError !== undefined;
  }

  /** @throws ReplayError IO if an earlier sync failed */
  check(): void {
    if (this.#syncError !== undefined) throw ioError(`${this.#syncError.message}. The state of the disk is unknown. Open the recording again`, this.#syncError);
  }

  /** Writes a step's frames. @throws ReplayError IO. In that case, `takeBack` removes the frames that were written */
  write(log: Log, pixels: readonly Uint8Array[], episode: number, step: number): void {
    for (const { camera, leaf } of this.#leaves) {
      const [height, width, channels] = leaf.shape as readonly [number, number, number];
      const frame = pixels[camera] as Uint8Array;
      const bytes = this.#encode?.(frame, width, height, channels) ?? frame;
      if (this.#names === undefined) log.write(RECORDED_FRAME, camera, bytes);
      else log.write(RECORDED_FRAME, camera, this.#file(this.#names.of(episode, step, camera), bytes));
    }
  }

  /** Marks the position from which `takeBack` removes frames. */
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
        // The file will be overwritten, or removed when the recording is opened again.
      }
    }
  }

  /** Syncs the frame files that are not synced yet, and closes them. @throws ReplayError IO. In that case, the state of the files is unknown */
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

  /** Closes the open frame files without syncing them. */
  close(): void {
    for (const file of this.#unsynced.values()) file.close();
    this.#unsynced.clear();
  }

  /**
   * Removes the frame files of steps that a crash lost. These are all files of episodes from `next` on, and the files of the
   * previous episode from step `length` on.
   * @param length the number of steps in the previous episode if it was cut off; infinity if it is complete
   */
  removeOrphans(next: number, length: number): void {
    if (this.#names === undefined) return;
    for (const name of withIoErrors("listing", this.#directory, "", () => this.#directory.list())) {
      const found = frameOf(name);
      const isOrphan = found !== undefined && (found.episode >= next || (found.episode === next - 1 && found.step >= length));
      if (isOrphan) withIoErrors("removing", this.#directory, name, () => this.#directory.remove(name));
    }
  }

  /** Writes a file. Returns its log entry, which contains its size and checksum. */
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
          if (!(written > 0)) throw new ReplayError("IO", `writing ${this.#directory.name}/${name} failed: the disk accepted no data`);
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
