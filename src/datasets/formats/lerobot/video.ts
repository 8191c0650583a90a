/** Films of LeRobot datasets: frames of one camera, one episode behind the other, in files that an encoder of the caller's makes. */
import type { StagedFile } from "../sinks/staging.ts";

/** What a film is to be. */
export interface VideoFormat {
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  /** Frames a second. */
  readonly fps: number;
  /** Takes the bytes of an mp4 file, in order. They may change once the promise is fulfilled. */
  write(bytes: Uint8Array): Promise<void>;
}

/** One film on its way. Calls come one after the other. */
export interface VideoEncoder {
  /** As LeRobot calls it: "h264", "vp9" or "av1". */
  readonly codec: string;
  /** A frame: u8, height × width × 3; the pixels may change once the promise is fulfilled. @param timestamp in seconds, from the film's beginning; its duration is 1 / fps */
  add(pixels: Uint8Array, timestamp: number): Promise<void>;
  /** All bytes were written when it is fulfilled. */
  finish(): Promise<void>;
  /** Lets go of a film that will not be finished. */
  cancel(): Promise<void>;
}

export type MakeVideoEncoder = (format: VideoFormat) => Promise<VideoEncoder>;

/** Where an episode is. */
export interface VideoSpan {
  readonly file: number;
  /** In seconds of its file. */
  readonly from: number;
  readonly to: number;
}

/** LeRobot compares times as f32 with a tolerance of 1e-4 s: longer films would have frames between. */
const MAX_SECONDS = 512;

/** What a VideoWriter is made of. */
export interface VideoPlan {
  /** Of a file, by its number. */
  readonly pathOf: (file: number) => string;
  readonly make: MakeVideoEncoder;
  readonly format: Omit<VideoFormat, "write">;
  readonly create: (path: string) => Promise<StagedFile>;
  /** A film with so many bytes ends with its episode: 0 for a film per episode. */
  readonly maxBytes: number;
}

/** The films of one camera. */
export class VideoWriter {
  readonly #plan: VideoPlan;
  #files = 0;
  #file: StagedFile | undefined;
  #encoder: VideoEncoder | undefined;
  /** Frames in the file that is open, and where the episode begins among them. */
  #frames = 0;
  #from = 0;
  codec = "";

  constructor(plan: VideoPlan) {
    this.#plan = plan;
  }

  async add(pixels: Uint8Array): Promise<void> {
    this.#encoder ??= await this.#start();
    await this.#encoder.add(pixels, this.#frames++ / this.#plan.format.fps);
  }

  /** The episode is whole; a file that has enough is finished with it. */
  async endEpisode(): Promise<VideoSpan> {
    const { maxBytes, format } = this.#plan;
    const span = { file: this.#files - 1, from: this.#from / format.fps, to: this.#frames / format.fps };
    this.#from = this.#frames;
    if ((this.#file?.bytes ?? 0) >= maxBytes || span.to >= MAX_SECONDS) await this.finish();
    return span;
  }

  async finish(): Promise<void> {
    await this.#encoder?.finish();
    this.#encoder = undefined;
    await this.#file?.close();
    this.#frames = 0;
    this.#from = 0;
  }

  /** Never fails: it follows a failure. */
  async cancel(): Promise<void> {
    await this.#encoder?.cancel().catch(() => {});
    this.#encoder = undefined;
  }

  async #start(): Promise<VideoEncoder> {
    const { make, format, create, pathOf } = this.#plan;
    const file = await create(pathOf(this.#files++));
    this.#file = file;
    const encoder = await make({ ...format, write: (bytes) => file.write(bytes) });
    this.codec = encoder.codec;
    return encoder;
  }
}
