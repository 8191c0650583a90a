/** Cuts films with ffmpeg, for the option `cutFilm` of writeLeRobot. */
import { spawn } from "node:child_process";
import { type CutFilm, type FilmCut, RldsError } from "../../datasets/rlds/index.ts";
import { filmPlace, H264, hasFfmpeg, inputOf, lastLine, MP4, PROGRAM } from "./ffmpeg.ts";

/** The arguments for ffmpeg, by the name of the codec in LeRobot. The quality is higher than in LeRobot, because the film is encoded for the second time. */
const ENCODERS: { readonly [codec: string]: readonly string[] } = {
  h264: H264,
  hevc: ["-c:v", "libx265", "-crf", "20", "-x265-params", "bframes=0:log-level=error", "-tag:v", "hvc1"],
  av1: ["-c:v", "libsvtav1", "-crf", "20", "-preset", "8"],
  vp9: ["-c:v", "libvpx-vp9", "-crf", "20", "-b:v", "0", "-deadline", "good", "-cpu-used", "4"],
};

export interface FilmCutterOptions {
  /** The folders of the datasets, as paths or URLs. If there are several folders, the path of each film begins with the index of its folder. */
  readonly folders: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Returns a function that cuts a film and waits for ffmpeg. The function throws RldsError UNSUPPORTED if ffmpeg is not installed or cannot cut the film, and
 * RldsError CORRUPT if the path of the film leads out of its folder.
 */
export function filmCutter({ folders, signal }: FilmCutterOptions): CutFilm {
  return async (cut) => {
    const [number = "", ...rest] = cut.path.split("/");
    const isJoined = folders.length > 1;
    const film = filmPlace(folders[isJoined ? Number(number) : 0] as string, isJoined ? rest.join("/") : cut.path);
    if (!hasFfmpeg())
      throw new RldsError(
        "UNSUPPORTED",
        "the film also contains frames of other episodes. Install ffmpeg to cut the film, leave the film out with --without, or keep all of its frames with --whole-films",
        { file: film },
      );
    await encode(argumentsOf(cut, film), cut, film, signal);
  };
}

/** Returns the arguments for ffmpeg. @throws RldsError UNSUPPORTED if Reprise cannot encode the codec of the film */
function argumentsOf({ ranges, fps, codec = "h264", pixelFormat = "yuv420p" }: FilmCut, film: string): string[] {
  const encoder = ENCODERS[codec];
  if (encoder === undefined)
    throw new RldsError(
      "UNSUPPORTED",
      `the film also contains frames of other episodes, but Reprise can cut only films with the codecs ${Object.keys(ENCODERS).join(", ")}, got ${codec}. Leave the film out with --without, or pass --whole-films`,
      {
        file: film,
      },
    );
  const select = ranges.map(({ from, to }) => `between(n,${from},${to - 1})`).join("+");
  const input = ["-v", "error", "-nostdin", ...inputOf(film), "-map", "0:v:0"];
  return [...input, "-vf", `select='${select}',setpts=N/(${fps}*TB)`, "-fps_mode", "cfr", "-r", String(fps), "-pix_fmt", pixelFormat, ...encoder, ...MP4, "-"];
}

/**
 * Runs ffmpeg and writes its output.
 * @throws RldsError UNSUPPORTED if ffmpeg fails
 * @throws AbortError if the signal aborts
 */
async function encode(args: readonly string[], { write }: FilmCut, film: string, signal: AbortSignal): Promise<void> {
  // The AV1 encoder prints its progress unless it is silenced.
  const child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "pipe"], signal, env: { ...process.env, SVT_LOG: "1" } });
  let message = "";
  child.stderr.on("data", (chunk) => {
    message += chunk;
  });
  const ended = new Promise<void>((resolve, reject) => {
    const fail = (reason: string) => reject(new RldsError("UNSUPPORTED", `ffmpeg cannot cut the film: ${reason}`, { file: film }));
    child.on("error", (error) => (signal.aborted ? reject(error) : fail(error.message)));
    child.on("close", (code, signalName) => (code === 0 ? resolve() : fail(lastLine(message) || `its exit status is ${code ?? signalName}`)));
  });
  // The promise is awaited only after all output is written. Until then, this handler prevents an unhandled rejection.
  ended.catch(() => {});
  try {
    let size = 0;
    for await (const chunk of child.stdout) {
      size += (chunk as Uint8Array).length;
      await write(chunk as Uint8Array);
    }
    await ended;
    if (size === 0) throw new RldsError("UNSUPPORTED", "ffmpeg cannot cut the film: it wrote nothing", { file: film });
  } finally {
    child.kill();
  }
}
