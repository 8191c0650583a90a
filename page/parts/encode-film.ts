/** Films, encoded by the browser (WebCodecs) and put into mp4 by mediabunny. */
import { BufferTarget, getFirstEncodableVideoCodec, Mp4OutputFormat, Output, Quality, VideoSample, VideoSampleSource } from "mediabunny";
import type { VideoEncoder as Film, VideoFormat } from "reprise/rlds";
import { filmsHere } from "./film.ts";

/** As LeRobot calls them, in the order in which they are tried. */
const CODECS = { avc: "h264", vp9: "vp9", av1: "av1" } as const;
/** Bits of a pixel: a film is for learning from, and small pictures are mostly edges. */
const BITS = 8;
const MIN_RATE = 500_000;
/** LeRobot jumps to single frames: so many at most have to be decoded on the way. */
const KEY_FRAMES = 5;

/** One film. @throws Error where the browser has no encoder for it */
export async function encodeFilm({ width, height, fps, write }: VideoFormat): Promise<Film> {
  const quality = new Quality({ bitrate: Math.max(MIN_RATE, width * height * fps * BITS) });
  const codec = filmsHere() ? await getFirstEncodableVideoCodec(["avc", "vp9", "av1"], { width, height, quality, frameRate: fps }) : null;
  if (codec === null) throw new Error(`This browser encodes no film of ${width} × ${height} pixels: choose images instead`);
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const source = new VideoSampleSource({ codec, quality, keyFrameInterval: KEY_FRAMES / fps });
  output.addVideoTrack(source, { frameRate: fps });
  await output.start();
  const opaque = new Uint8Array(width * height * 4).fill(255);
  return {
    codec: CODECS[codec as keyof typeof CODECS],
    async add(pixels, timestamp) {
      for (let from = 0, to = 0; from < pixels.length; from += 3, to += 4) {
        opaque[to] = pixels[from] as number;
        opaque[to + 1] = pixels[from + 1] as number;
        opaque[to + 2] = pixels[from + 2] as number;
      }
      const sample = new VideoSample(opaque, { format: "RGBX", codedWidth: width, codedHeight: height, timestamp, duration: 1 / fps });
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
