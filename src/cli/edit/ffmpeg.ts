/** Decodes and encodes films with ffmpeg, if ffmpeg is installed. */
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { type FilmFrames, RldsError, type VideoEncoder, type VideoFormat } from "../../datasets/rlds/index.ts";
import { checkInside, isUrl } from "../program-parts.ts";

export const PROGRAM = "ffmpeg";
/** The container formats that films may have, by their names in ffmpeg. */
const FILM_FORMATS = "mov,mp4,matroska,webm,avi";
/** The extra space in the output buffer, beyond the requested pixels, in bytes. */
const SLACK = 1 << 20;
/** The arguments for MP4. As in LeRobot, every second frame is a keyframe, which can be decoded without other frames. */
export const MP4 = ["-g", "2", "-movflags", "frag_keyframe+empty_moov", "-f", "mp4"];
/** The arguments for H.264. They forbid frames that refer to later frames, because such frames would shift the times of all frames. */
export const H264 = ["-c:v", "libx264", "-crf", "18", "-bf", "0"];
const ENCODING = ["-pix_fmt", "yuv420p", ...H264, ...MP4];

export function hasFfmpeg(): boolean {
  return spawnSync(PROGRAM, ["-version"], { stdio: "ignore" }).status === 0;
}

/**
 * Returns the pixels of frames, height × width × 3 bytes per frame. Blocks until ffmpeg has ended.
 * @param folder the path or URL of the dataset
 * @throws RldsError UNSUPPORTED if ffmpeg cannot decode the film
 * @throws RldsError CORRUPT if the film lacks a requested frame, or if its path leads out of the folder
 */
export function decodeFrames(folder: string, { path, times, fps, height, width }: FilmFrames): Uint8Array {
  const film = filmPlace(folder, path);
  const size = height * width * 3;
  const first = Math.min(...times);
  const numbers = times.map((time) => Math.round((time - first) * fps));
  const distinct = [...new Set(numbers)].sort((a, b) => a - b);
  const select = distinct.map((number) => `eq(n,${number})`).join("+");
  const seek = first - 0.5 / fps;
  // The time of the first frame in a film may be rounded up, so ffmpeg must not seek to it.
  const start = seek > 0 ? ["-ss", seek.toFixed(6)] : [];
  const args = ["-v", "error", "-nostdin", ...start, ...inputOf(film), "-map", "0:v:0", "-vf", `select='${select}'`, "-fps_mode", "passthrough"];
  const output = ["-frames:v", String(distinct.length), "-s", `${width}x${height}`, "-pix_fmt", "rgb24", "-f", "rawvideo", "-"];
  const { status, stdout, stderr, error } = spawnSync(PROGRAM, [...args, ...output], { maxBuffer: size * distinct.length + SLACK });
  if (status !== 0) throw new RldsError("UNSUPPORTED", `ffmpeg cannot decode the film: ${error?.message ?? lastLine(String(stderr))}`, { file: film });
  if (stdout.length !== size * distinct.length)
    throw new RldsError("CORRUPT", `the film ends too early: it has no frame ${distinct[Math.floor(stdout.length / size)]}, counted from ${first} s`, {
      file: film,
    });
  if (distinct.length === times.length && numbers.every((number, i) => number === distinct[i])) return stdout;
  const pixels = new Uint8Array(size * times.length);
  for (const [i, number] of numbers.entries()) {
    const at = distinct.indexOf(number) * size;
    pixels.set(stdout.subarray(at, at + size), i * size);
  }
  return pixels;
}

/** Starts ffmpeg and returns an encoder for one film, for the option `videoEncoder` of writeLeRobot. */
export async function ffmpegEncoder({ width, height, fps, write }: VideoFormat): Promise<VideoEncoder> {
  const input = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", `${width}x${height}`, "-r", String(fps), "-i", "-"];
  // The colours are stored at half the resolution, so odd dimensions are padded to even ones.
  const even = width % 2 === 0 && height % 2 === 0 ? [] : ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"];
  const child = spawn(PROGRAM, ["-v", "error", ...input, ...even, ...ENCODING, "-"], { stdio: ["pipe", "pipe", "pipe"] });
  let message = "";
  child.stderr.on("data", (chunk) => {
    message += chunk;
  });
  // If ffmpeg ends before it has read all input, its exit status reports the failure.
  child.stdin.on("error", () => {});
  const written = (async () => {
    for await (const chunk of child.stdout) await write(chunk as Uint8Array);
  })();
  const ended = new Promise<void>((resolve, reject) => {
    const fail = (reason: string) => reject(new RldsError("UNSUPPORTED", `ffmpeg cannot encode the film: ${reason}`));
    child.on("error", (error) => fail(error.message));
    child.on("close", (code) => (code === 0 ? resolve() : fail(lastLine(message) || `its exit status is ${code}`)));
  });
  const all = Promise.all([written, ended]);
  // The next call to `add` or `finish` rejects with the error. Until then, this handler prevents an unhandled rejection.
  all.catch(() => {});
  return {
    codec: "h264",
    async add(pixels) {
      const isTaken = new Promise<void>((resolve) => child.stdin.write(pixels, () => resolve()));
      await Promise.race([isTaken, all]);
    },
    async finish() {
      child.stdin.end();
      await all;
    },
    async cancel() {
      child.kill();
      await all.catch(() => {});
    },
  };
}

/** Returns the path or URL of a film. @throws RldsError CORRUPT if the path leads out of the folder */
export function filmPlace(folder: string, path: string): string {
  const inside = checkInside(path, "the path of a film");
  return isUrl(folder) ? new URL(inside, folder.endsWith("/") ? folder : `${folder}/`).href : join(folder, inside);
}

/** Returns the arguments that name a film. The format list excludes playlists, which could refer to any other file on this machine. */
export function inputOf(film: string): string[] {
  return ["-format_whitelist", FILM_FORMATS, "-i", isUrl(film) ? film : `file:${film}`];
}

export function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
