/** Encodes videos with mediabunny, which uses the WebCodecs API of a browser. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import type { MakeVideoEncoder } from "./video.ts";

/** The parts of the package `mediabunny` that the encoder uses. The caller passes the package, so that programs without videos do not need it. */
export interface Mediabunny {
  readonly Output: new (options: {
    readonly format: never;
    readonly target: never;
  }) => {
    addVideoTrack(source: never, metadata: { readonly frameRate: number }): unknown;
    start(): Promise<void>;
    finalize(): Promise<void>;
    cancel(): Promise<void>;
  };
  readonly Mp4OutputFormat: new (options: { readonly fastStart: "fragmented" }) => object;
  readonly StreamTarget: new (stream: never) => object;
  readonly VideoSampleSource: new (config: {
    readonly codec: never;
    readonly bitrate: number;
    readonly keyFrameInterval: number;
  }) => { add(sample: never): Promise<void> };
  readonly VideoSample: new (
    data: Uint8Array<ArrayBuffer>,
    init: { readonly format: "RGBX"; readonly codedWidth: number; readonly codedHeight: number; readonly timestamp: number; readonly duration: number },
  ) => { close(): void };
}

/** The options of `mediabunnyEncoder`. */
export interface MediabunnyEncoderOptions {
  /** The video codec. "avc" is H.264, which requires even widths and heights. Default: "avc". */
  readonly codec?: "avc" | "vp9" | "av1";
  /** The bit rate, in bits per second. Default: 4 × width × height × fps, at most 20 million. */
  readonly bitrate?: number;
  /** The number of seconds between key frames. A shorter interval produces larger files and faster seeking. Default: 1. */
  readonly keyFrameInterval?: number;
}

/** The names that LeRobot uses for the codecs. */
const CODECS = { avc: "h264", vp9: "vp9", av1: "av1" } as const;

/**
 * Returns an encoder for the option `videoEncoder` of writeLeRobot, for example `writeLeRobot(data, to, { fps, videos, videoEncoder: mediabunnyEncoder(await
 * import("mediabunny")) })`. Requires WebCodecs, which Node does not have. Files are fragmented mp4 with one fragment per second, and are written while they
 * are encoded.
 * @throws TypeError, RangeError if an option is invalid
 */
export function mediabunnyEncoder(mediabunny: Mediabunny, options: MediabunnyEncoderOptions = {}): MakeVideoEncoder {
  const { codec = "avc", bitrate, keyFrameInterval = 1 } = onlyKeys("options", options, "codec, bitrate, keyFrameInterval");
  if (!Object.hasOwn(CODECS, codec)) throw mustBe(RangeError, "codec", '"avc", "vp9" or "av1"', codec);
  for (const [name, value] of Object.entries({ bitrate: bitrate ?? 1, keyFrameInterval }))
    if (!(typeof value === "number" && value > 0 && value < Number.POSITIVE_INFINITY)) throw mustBe(RangeError, name, "a number above 0", value);
  return async ({ width, height, fps, write }) => {
    const { Output, Mp4OutputFormat, StreamTarget, VideoSampleSource, VideoSample } = mediabunny;
    const stream = new WritableStream<{ readonly data: Uint8Array }>({ write: ({ data }) => write(data) });
    const output = new Output({ format: new Mp4OutputFormat({ fastStart: "fragmented" }) as never, target: new StreamTarget(stream as never) as never });
    const source = new VideoSampleSource({ codec: codec as never, bitrate: bitrate ?? Math.min(4 * width * height * fps, 2e7), keyFrameInterval });
    output.addVideoTrack(source as never, { frameRate: fps });
    await output.start();
    // The pixels are copied to a new array as RGBX, because the encoder may read them later.
    return {
      codec: CODECS[codec],
      async add(pixels, timestamp) {
        const data = new Uint8Array(4 * width * height).fill(255);
        for (let from = 0, to = 0; from < pixels.length; from += 3, to += 4) {
          data[to] = pixels[from] as number;
          data[to + 1] = pixels[from + 1] as number;
          data[to + 2] = pixels[from + 2] as number;
        }
        const sample = new VideoSample(data, { format: "RGBX", codedWidth: width, codedHeight: height, timestamp, duration: 1 / fps });
        try {
          await source.add(sample as never);
        } finally {
          sample.close();
        }
      },
      finish: () => output.finalize(),
      cancel: () => output.cancel(),
    };
  };
}
