/** Encodes films with the browser (WebCodecs) and puts them into mp4 with mediabunny. */
import { BufferTarget, getFirstEncodableVideoCodec, Mp4OutputFormat, Output, Quality, VideoSample, VideoSampleSource } from "mediabunny";
import type { VideoEncoder as Film, VideoFormat } from "reprise/rlds";
import { filmsHere } from "./film.ts";

/** The codecs with LeRobot's names, in the order in which they are tried. */
const CODECS = { avc: "h264", vp9: "vp9", av1: "av1" } as const;
/** The number of bits per pixel. It is high, because films are used for learning, and small pictures consist mostly of edges. */
const BITS = 8;
const MIN_RATE = 500_000;
/** The distance between key frames. LeRobot seeks single frames, and decodes at most this many frames for each. */
const KEY_FRAMES = 5;

/**
 * The colour space of the planes. The browser's conversion from RGB is avoided, because it declares full range although its planes have limited range. LeRobot
 * reads films with PyAV, which assumes BT.601.
 */
const COLOURS = { primaries: "smpte170m", transfer: "smpte170m", matrix: "smpte170m", fullRange: false } as const;

/** Encodes one film. @throws Error if the browser has no encoder for the film */
export async function encodeFilm({ width, height, fps, write }: VideoFormat): Promise<Film> {
  const quality = new Quality({ bitrate: Math.max(MIN_RATE, width * height * fps * BITS) });
  const codec = filmsHere() ? await getFirstEncodableVideoCodec(["avc", "vp9", "av1"], { width, height, quality, frameRate: fps }) : null;
  if (codec === null) throw new Error(`This browser cannot encode films of ${width} × ${height} pixels. Choose images instead`);
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const source = new VideoSampleSource({ codec, quality, keyFrameInterval: KEY_FRAMES / fps });
  output.addVideoTrack(source, { frameRate: fps });
  await output.start();
  const planes = new Uint8Array(width * height + 2 * half(width) * half(height));
  return {
    codec: CODECS[codec as keyof typeof CODECS],
    async add(pixels, timestamp) {
      toPlanes(pixels, width, height, planes);
      const sample = new VideoSample(planes, { format: "I420", codedWidth: width, codedHeight: height, timestamp, duration: 1 / fps, colorSpace: COLOURS });
      try {
        await source.add(sample);
      } finally {
        sample.close();
      }
    },
    async finish() {
      await output.finalize();
      await write(new Uint8Array(target.buffer as ArrayBuffer));
    },
    cancel: () => output.cancel(),
  };
}

const half = (size: number): number => (size + 1) >> 1;

/** Converts RGB to planes of brightness and, at half the size, of blue and red, as in ITU-R BT.601 with limited range. */
function toPlanes(pixels: Uint8Array, width: number, height: number, planes: Uint8Array): void {
  const [blue, red] = [width * height, width * height + half(width) * half(height)];
  const at = (x: number, y: number, c: number) => pixels[3 * (Math.min(y, height - 1) * width + Math.min(x, width - 1)) + c] as number;
  for (let i = 0; i < width * height; i++) {
    const [r, g, b] = [pixels[3 * i] as number, pixels[3 * i + 1] as number, pixels[3 * i + 2] as number];
    planes[i] = Math.round(16 + (65.481 * r + 128.553 * g + 24.966 * b) / 255);
  }
  for (let y = 0, i = 0; y < height; y += 2) {
    for (let x = 0; x < width; x += 2, i++) {
      const mean = (c: number) => (at(x, y, c) + at(x + 1, y, c) + at(x, y + 1, c) + at(x + 1, y + 1, c)) / 4;
      const [r, g, b] = [mean(0), mean(1), mean(2)];
      planes[blue + i] = Math.round(128 + (-37.797 * r - 74.203 * g + 112 * b) / 255);
      planes[red + i] = Math.round(128 + (112 * r - 93.786 * g - 18.214 * b) / 255);
    }
  }
}
