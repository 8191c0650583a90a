/** Decodes the frames of a recording, which are stored in sections of the segments or in separate files. */
import { dataView } from "../../../base/bytes.ts";
import { crc32c } from "../../../base/crc32c.ts";
import type { RecordingAbout } from "../../model/recording/about.ts";
import { FrameNames } from "../../model/recording/frame-files.ts";
import type { FrameLeaf, RowLayout } from "../../model/recording/row-layout.ts";
import { columnRemedy, corruptFile, type RldsError } from "../../model/rlds-error.ts";
import { imageHead } from "../images/image-head.ts";
import type { ImageDecoder } from "../images/images.ts";
import type { ReadsLeaf } from "./episode-columns.ts";
import type { FramePlace } from "./lazy-frames.ts";
import type { RecordingFolder } from "./recording-folder.ts";

/** The file and offset of a section's payload. */
export interface SectionPlace {
  readonly file: string;
  readonly at: number;
}

export interface FrameReading {
  readonly decode: ImageDecoder | undefined;
  readonly maxBytes: number;
  readonly reads: ReadsLeaf;
}

/** Buffers frames until their step arrives. */
export class PendingFrames {
  readonly #leaves: readonly FrameLeaf[];
  readonly #decode: ImageDecoder | undefined;
  readonly #names: FrameNames | undefined;
  readonly #maxBytes: number;
  readonly #isRead: readonly boolean[];
  /** The section with the next frame of each camera. `#places` has the places of the sections in the files. */
  #sections: (Uint8Array | undefined)[];
  #places: (SectionPlace | undefined)[];

  /** @param decode the PNG decoder; undefined for raw pixels @param reads returns whether to read the frames of a camera */
  constructor({ frames }: RowLayout, { images, imagesIn }: RecordingAbout, { decode, maxBytes, reads }: FrameReading) {
    this.#isRead = frames.map(reads);
    this.#leaves = frames;
    this.#decode = decode;
    this.#maxBytes = maxBytes;
    if (imagesIn === "files") this.#names = new FrameNames(frames, images);
    this.#sections = frames.map(() => undefined);
    this.#places = frames.map(() => undefined);
  }

  /** Whether frames are in separate files, which are read asynchronously. */
  get areSeparate(): boolean {
    return this.#names !== undefined;
  }

  /** Adds a copy of a section's payload. @throws Error if the camera does not exist */
  addSection(camera: number, payload: Uint8Array, place: SectionPlace): void {
    if (camera >= this.#leaves.length) throw new Error(`the camera of a frame must be in 0 … ${this.#leaves.length - 1}, got ${camera}`);
    if (!this.#isRead[camera]) return;
    this.#sections[camera] = payload.slice();
    this.#places[camera] = place;
  }

  forget(): void {
    this.#sections.fill(undefined);
    this.#places.fill(undefined);
  }

  /** Returns the place of each camera's frame and clears the buffer. @throws Error if a frame is missing */
  places(episode: number, step: number): (FramePlace | undefined)[] {
    const places = [...this.#places];
    return this.#takeSections().map((bytes, camera): FramePlace | undefined => {
      if (bytes === undefined) return undefined;
      if (this.#names === undefined) return { ...(places[camera] as SectionPlace), bytes: bytes.length, sum: crc32c(bytes) };
      const { size, sum, name } = this.#fileOf(bytes, episode, step, camera);
      return { file: name, at: 0, bytes: size, sum };
    });
  }

  /** Returns the pixels of a frame. @throws Error if the frame is damaged */
  decode(bytes: Uint8Array, leaf: FrameLeaf): Uint8Array {
    return this.#decodeFrame(bytes, leaf);
  }

  /** Returns the pixels of each camera and clears the buffer. @throws Error if a frame is damaged or missing */
  pixels(): (Uint8Array | undefined)[] {
    return this.#takeSections().map((bytes, i) => bytes && this.#decodeFrame(bytes, this.#leaves[i] as FrameLeaf));
  }

  /** Does the same as `pixels` for frames in files. @throws RldsError CORRUPT if a file is missing or differs from the recorded file */
  async fromFiles(folder: RecordingFolder, episode: number, step: number): Promise<(Uint8Array | undefined)[]> {
    const pixels: (Uint8Array | undefined)[] = [];
    for (const [camera, sectionBytes] of this.#takeSections().entries()) {
      if (sectionBytes === undefined) {
        pixels.push(undefined);
        continue;
      }
      const leaf = this.#leaves[camera] as FrameLeaf;
      const { name, size, sum } = this.#fileOf(sectionBytes, episode, step, camera);
      const bytes = await folder.bytes(name, this.#maxBytes).catch((cause) => {
        if ((cause as Partial<RldsError>).code !== "NOT_FOUND") throw cause;
        throw corruptFile({ file: name }, `the file of a frame is missing${columnRemedy(leaf.keys)}`, cause);
      });
      if (bytes.length !== size || crc32c(bytes) !== sum)
        throw corruptFile({ file: name }, `the file of a frame is truncated or altered${columnRemedy(leaf.keys)}`);
      pixels.push(this.#decodeFrame(bytes, leaf));
    }
    return pixels;
  }

  /** Parses the section that describes a frame's file. */
  #fileOf(section: Uint8Array, episode: number, step: number, camera: number): { readonly name: string; readonly size: number; readonly sum: number } {
    const name = (this.#names as FrameNames).of(episode, step, camera);
    if (section.length !== 8) throw new Error(`the section that describes the file ${name} has ${section.length} bytes instead of 8`);
    const view = dataView(section);
    return { name, size: view.getUint32(0, true), sum: view.getUint32(4, true) };
  }

  /** Returns the sections of the cameras that are read, and clears the buffer. @throws Error if a frame is missing */
  #takeSections(): (Uint8Array | undefined)[] {
    const sections = this.#sections.map((bytes, i) => {
      if (bytes === undefined && this.#isRead[i]) throw new Error(`a step has no frame of ${this.#leaves[i]?.path}`);
      return bytes;
    });
    this.forget();
    return sections;
  }

  #decodeFrame(bytes: Uint8Array, { path, leaf: { shape }, size }: FrameLeaf): Uint8Array {
    const [height, width, channels] = shape as readonly [number, number, number];
    let pixels = bytes;
    if (this.#decode !== undefined) {
      const head = imageHead(bytes);
      if (head.format !== "png" || head.height !== height || head.width !== width)
        throw new Error(`${path} is a ${head.format} image of ${head.height} × ${head.width} pixels instead of a png image of ${height} × ${width}`);
      pixels = this.#decode(bytes, { type: "u8", channels }, Math.max(this.#maxBytes, 8 * size)) as Uint8Array;
    }
    if (pixels.length !== size) throw new Error(`${path} has ${pixels.length} bytes of pixels instead of ${size}`);
    return pixels;
  }
}
