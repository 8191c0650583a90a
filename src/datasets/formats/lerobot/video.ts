/** Writes the videos of LeRobot datasets. A video contains the frames of one camera, episode after episode, and is created by the caller's encoder. */
import type { StagedFile } from "../sinks/staging.ts";

/** The format of a video. */
export interface VideoFormat {
  /** The width in pixels. */
  readonly width: number;
  readonly height: number;
  /** The frame rate, in frames per second. */
  readonly fps: number;
  /** Writes the next bytes of the mp4 file. The array may be reused when the promise is fulfilled. */
  write(bytes: Uint8Array): Promise<void>;
}

/** An encoder of one video. Each of its methods is called only after the promise of the previous call has settled. */
export interface VideoEncoder {
  /** The codec, by its name in LeRobot: "h264", "vp9" or "av1". */
  readonly codec: string;
  /**
   * Adds a frame of u8 pixels, height × width × 3. The pixels may be reused when the promise is fulfilled. Each frame lasts 1 / fps.
   * @param timestamp the time from the beginning of the video, in seconds
   */
  add(pixels: Uint8Array, timestamp: number): Promise<void>;
  /** Finishes the video. The promise is fulfilled when all bytes are written. */
  finish(): Promise<void>;
  /** Abandons the video and releases its resources. */
  cancel(): Promise<void>;
}

/** A function that creates the encoder of one video. */
export type MakeVideoEncoder = (format: VideoFormat) => Promise<VideoEncoder>;

/** The place of an episode in the videos of one camera. */
export interface VideoSpan {
  /** The number of the file, among the videos of the camera. */
  readonly file: number;
  /** The time at which the episode begins, in seconds from the beginning of the file. */
  readonly from: number;
  /** The time at which the episode ends, in seconds from the beginning of the file. */
  readonly to: number;
}

/**
 * The length of a video, in seconds, after which the next episode begins a new video. LeRobot compares times as f32 with a tolerance of 1e-4 s, and the
 * rounding errors of f32 increase with the time.
 */
const MAX_SECONDS = 512;

/** The parameters of a VideoWriter. */
export interface VideoPlan {
  /** Returns the path of a file by its number. */
  readonly pathOf: (file: number) => string;
  readonly make: MakeVideoEncoder;
  readonly format: Omit<VideoFormat, "write">;
  readonly create: (path: string) => Promise<StagedFile>;
  /** The size in bytes after which the next episode begins a new video. If it is 0, each episode has its own video. */
  readonly maxBytes: number;
}

/** Writes the videos of one camera. */
export class VideoWriter {
  readonly #plan: VideoPlan;
  #files = 0;
  #file: StagedFile | undefined;
  #encoder: VideoEncoder | undefined;
  /** The number of frames in the open file. */
  #frames = 0;
  /** The index in the open file of the current episode's first frame. */
  #from = 0;
  codec = "";

  constructor(plan: VideoPlan) {
    this.#plan = plan;
  }

  async add(pixels: Uint8Array): Promise<void> {
    this.#encoder ??= await this.#start();
    await this.#encoder.add(pixels, this.#frames++ / this.#plan.format.fps);
  }

  /** Ends the episode, and returns its place in the videos. Also finishes the file if it has reached the maximum size or length. */
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

  /** Cancels the encoder of the open file. Ignores errors of the encoder, because it is called after a failure. */
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
