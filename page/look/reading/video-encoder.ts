/** Films by the browser's own encoder, as LeRobot's writer asks for them: mp4 by mediabunny over WebCodecs. */
import { BufferTarget, getFirstEncodableVideoCodec, Mp4OutputFormat, Output, QUALITY_HIGH, VideoSample, VideoSampleSource } from "mediabunny";
import { type MakeVideoEncoder, RldsError, type VideoFormat } from "reprise/rlds";

/** In the order in which they are tried, with LeRobot's names. */
const CODECS = { avc: "h264", vp9: "vp9", av1: "av1" } as const;
type Codec = keyof typeof CODECS;

/** Where a program goes to, it decodes from the last whole frame on: these are not far apart, in seconds. */
const KEY_FRAMES = 0.5;
const PIECE = 1 << 20;

/** What this browser encodes for frames of such a size; undefined where it encodes nothing. */
export async function encodableCodec(width: number, height: number): Promise<Codec | undefined> {
  if (!("VideoEncoder" in globalThis)) return undefined;
  return ((await getFirstEncodableVideoCodec(Object.keys(CODECS) as Codec[], { width, height, quality: QUALITY_HIGH } as never)) ?? undefined) as
    | Codec
    | undefined;
}

/** @throws RldsError UNSUPPORTED where the browser encodes no film of the size */
export const makeVideoEncoder: MakeVideoEncoder = async ({ width, height, fps, write }: VideoFormat) => {
  const codec = await encodableCodec(width, height);
  if (codec === undefined)
    throw new RldsError("UNSUPPORTED", `this browser encodes no films of ${width} × ${height} pixels: export images in the rows instead`);
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const source = new VideoSampleSource({ codec, bitrate: QUALITY_HIGH, keyFrameInterval: KEY_FRAMES, latencyMode: "quality" });
  output.addVideoTrack(source, { frameRate: fps });
  await output.start();
  const pixels = new Uint8Array(width * height * 4);
  return {
    codec: CODECS[codec],
    async add(rgb, timestamp) {
      for (let i = 0, from = 0; i < pixels.length; i += 4) {
        pixels[i] = rgb[from++] as number;
        pixels[i + 1] = rgb[from++] as number;
        pixels[i + 2] = rgb[from++] as number;
        pixels[i + 3] = 255;
      }
      const sample = new VideoSample(pixels, { format: "RGBX", codedWidth: width, codedHeight: height, timestamp, duration: 1 / fps });
      await source.add(sample);
      sample.close();
    },
    async finish() {
      await output.finalize();
      const bytes = new Uint8Array(target.buffer as ArrayBuffer);
      for (let at = 0; at < bytes.length; at += PIECE) await write(bytes.subarray(at, at + PIECE));
    },
    cancel: () => output.cancel(),
  };
};
