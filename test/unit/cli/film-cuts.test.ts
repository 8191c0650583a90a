/** Tests `reprise edit` of films: a film is copied if the cut allows it, and otherwise cut with ffmpeg. Without ffmpeg, the edit fails. */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { decodeFrames, hasFfmpeg } from "../../../src/cli/edit/ffmpeg.ts";
import { filmCutter } from "../../../src/cli/edit/film-cutter.ts";
import { type CutFilm, type FilmCut, memorySink, openLeRobot, openRlds, type RldsDataset, writeLeRobot } from "../../../src/datasets/rlds/index.ts";
import { all } from "../../support/rlds-data.ts";
import { some, whole } from "../../support/size.ts";
import { DATA, document, failure, reprise, temporary, withPath } from "./support.ts";

const temp = temporary();
/** A dataset with episodes of 5, 3 and 4 frames in one AV1 film. */
const FILMED = join(DATA, "wild/lerobot_video");
const CAMERA = "observation.images.top";
const FILM = `videos/${CAMERA}/chunk-000/file-000.mp4`;
const [FPS, HEIGHT, WIDTH] = [10, 64, 96];
const SIZE = HEIGHT * WIDTH * 3;
let names = 0;
const fresh = () => temp(`${names++}`);

interface Reference {
  readonly path: string;
  readonly timestamp: number;
}

/** Returns the references to frames in the steps of each episode. */
async function referencesOf(folder: string): Promise<Reference[][]> {
  const reader = await openRlds(folder);
  const episodes = await all(reader);
  await reader.close();
  return episodes.map(({ steps }) => steps.map((step) => (step as { observation: { images: { top: Reference } } }).observation.images.top));
}

const cutOf = (more: Partial<FilmCut> = {}): FilmCut => ({
  ...{ path: FILM, ranges: [{ from: 0, to: 5 }], fps: FPS, codec: "av1", pixelFormat: "yuv420p", write: async () => {} },
  ...more,
});
const signal = new AbortController().signal;

/** Returns the film that a LeRobot writer requests for the given episodes, and the times of the episodes in it. */
async function cutsFor(kept: readonly number[], options: object = {}) {
  const reader = await openLeRobot(FILMED);
  const cuts: (Pick<FilmCut, "path" | "ranges" | "fps" | "codec" | "pixelFormat"> & object)[] = [];
  const cutFilm: CutFilm = async ({ write, ...cut }) => {
    cuts.push(cut);
    await write(Uint8Array.of(1, 2, 3));
  };
  const data = {
    ...{ stepSpec: reader.stepSpec, metadataSpec: reader.metadataSpec },
    async *[Symbol.asyncIterator]() {
      let number = 0;
      for await (const episode of reader) if (kept.includes(number++)) yield episode;
    },
  };
  const to = memorySink();
  await writeLeRobot(data as unknown as RldsDataset<unknown>, to, { fps: FPS, films: reader.films as never, cutFilm, ...options });
  const written = await openLeRobot(to);
  const starts = (await all(written)).map(({ steps }) => (steps[0] as { observation: { images: { top: Reference } } }).observation.images.top);
  return { cuts, to, starts };
}

describe("a writer", () => {
  const film = new Uint8Array(readFileSync(join(FILMED, FILM)));
  const whole = { path: FILM, fps: FPS, codec: "av1", pixelFormat: "yuv420p" };
  const near = (starts: readonly Reference[]) => starts.map(({ timestamp }) => Number(timestamp.toFixed(6)));

  test("copies a film if all of its episodes are written", async () => {
    const { cuts, to, starts } = await cutsFor([0, 1, 2]);
    expect([cuts, to.get(FILM)]).toEqual([[], film]);
    expect(near(starts)).toEqual([0, 0.5, 0.8]);
  });

  test.each([
    [
      [0, 2],
      [
        [0, 5],
        [8, 12],
      ],
      [0, 0.5],
    ],
    [[1, 2], [[5, 12]], [0, 0.3]],
    [[0, 1], [[0, 8]], [0, 0.5]],
    [[1], [[5, 8]], [0]],
  ])("cuts a film to the frames of episodes %j", async (kept, ranges, times) => {
    const { cuts, to, starts } = await cutsFor(kept);
    expect(cuts).toEqual([{ ...whole, ranges: ranges.map(([from, to]) => ({ from, to })) }]);
    expect(to.get(FILM)).toEqual(Uint8Array.of(1, 2, 3));
    expect(near(starts)).toEqual(times);
  });

  test("cuts one film per episode for version 2.1", async () => {
    const { cuts, to } = await cutsFor([0, 2], { version: "2.1" });
    expect(cuts.map(({ ranges }) => ranges)).toEqual([[{ from: 0, to: 5 }], [{ from: 8, to: 12 }]]);
    expect([...to.keys()].filter((path) => path.endsWith(".mp4"))).toEqual([0, 1].map((k) => `videos/chunk-000/${CAMERA}/episode_00000${k}.mp4`));
  });

  test("copies whole films with their original timestamps if cutFilm is undefined", async () => {
    const { cuts, to, starts } = await cutsFor([0, 2], { cutFilm: undefined });
    expect([cuts, to.get(FILM)]).toEqual([[], film]);
    expect(near(starts)).toEqual([0, 0.8]);
  });

  test("rejects a cutFilm that is not a function", async () => {
    await expect(cutsFor([0], { cutFilm: "ffmpeg" })).rejects.toThrow(/cutFilm must/);
  });
});

describe("the ffmpeg program", () => {
  /** Returns a folder with a fake ffmpeg that supports -version, and otherwise runs these lines of a shell script. */
  function program(lines: string): string {
    const folder = fresh();
    mkdirSync(folder);
    writeFileSync(join(folder, "ffmpeg"), `#!/bin/sh\n[ "$1" = -version ] && exit 0\n${lines}\n`);
    chmodSync(join(folder, "ffmpeg"), 0o755);
    return `${folder}${delimiter}${process.env.PATH}`;
  }

  test("receives the film, the frame ranges and an encoder for the same codec and pixels", async () => {
    const seen = temp("arguments");
    const path = program(`printf '%s\\n' "$@" > ${seen}; printf film`);
    const argumentsFor = async (more: Partial<FilmCut>, folders = [FILMED]) => {
      const bytes: number[] = [];
      const write = async (chunk: Uint8Array) => void bytes.push(...chunk);
      await withPath(path, () => filmCutter({ folders, signal })(cutOf({ write, ...more })));
      expect(Buffer.from(bytes).toString()).toBe("film");
      return readFileSync(seen, "utf8").trimEnd().split("\n");
    };
    const twice = await argumentsFor({
      ranges: [
        { from: 0, to: 5 },
        { from: 8, to: 12 },
      ],
    });
    const input = (args: readonly string[]) => args[args.indexOf("-i") + 1];
    expect(twice.slice(0, 18)).toEqual([
      ...["-v", "error", "-nostdin", "-format_whitelist", "mov,mp4,matroska,webm,avi", "-i", `file:${join(FILMED, FILM)}`, "-map", "0:v:0"],
      ...["-vf", "select='between(n,0,4)+between(n,8,11)',setpts=N/(10*TB)", "-fps_mode", "cfr", "-r", "10", "-pix_fmt", "yuv420p", "-c:v"],
    ]);
    expect(twice).toEqual(expect.arrayContaining(["libsvtav1", "-g", "2", "frag_keyframe+empty_moov", "mp4"]));
    expect(twice.at(-1)).toBe("-");
    const encoders = { h264: "libx264", hevc: "libx265", vp9: "libvpx-vp9" };
    for (const [codec, encoder] of Object.entries(encoders))
      expect(await argumentsFor({ codec, pixelFormat: "yuv444p" })).toEqual(expect.arrayContaining([encoder, "yuv444p"]));
    // Properties that the source does not specify get default values.
    expect(await argumentsFor({ codec: undefined, pixelFormat: undefined })).toEqual(expect.arrayContaining(["libx264", "yuv420p"]));
    const second = await argumentsFor({ path: `1/${FILM}` }, ["/elsewhere", FILMED]);
    expect(input(second)).toBe(`file:${join(FILMED, FILM)}`);
    expect(input(await argumentsFor({}, ["https://films.example/pick"]))).toBe(`https://films.example/pick/${FILM}`);
  });

  test.each([
    ["ends with another code", "printf 'half a film'; echo 'Unknown encoder' >&2; exit 8", "ffmpeg cannot cut the film: Unknown encoder"],
    ["ends with another exit code and no output", "exit 3", "ffmpeg cannot cut the film: its exit status is 3"],
    ["is killed", "kill -9 $$", "ffmpeg cannot cut the film: its exit status is SIGKILL"],
    ["writes nothing", "exit 0", "ffmpeg cannot cut the film: it wrote nothing"],
  ])("leaves no target and an unchanged source if it %s", async (_, lines, message) => {
    await withPath(program(lines), async () => {
      const [path, out] = [fresh(), fresh()];
      cpSync(FILMED, path, { recursive: true });
      const { error } = await failure(1, "edit", path, out, "--format", "lerobot", "--drop-episodes", "1");
      expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining(message), file: join(path, FILM) });
      expect(existsSync(out)).toBe(false);
      const before = readdirSync(path, { recursive: true }).sort();
      await failure(1, "edit", path, path, "--overwrite", "--drop-episodes", "1");
      expect(readdirSync(path, { recursive: true }).sort()).toEqual(before);
      expect(readFileSync(join(path, FILM)).equals(readFileSync(join(FILMED, FILM)))).toBe(true);
    });
  });

  test("is required only for films that must be cut, and the error suggests its installation", async () => {
    await withPath("/nowhere", async () => {
      const out = fresh();
      const { error } = await failure(1, "edit", FILMED, out, "--format", "lerobot", "--drop-episodes", "1");
      expect(error.code).toBe("UNSUPPORTED");
      expect(error.message).toContain("the film also contains frames of other episodes. Install ffmpeg");
      expect(existsSync(out)).toBe(false);
      await document("edit", FILMED, out, "--format", "lerobot", "--drop-episodes", "1", "--whole-films");
      expect(readFileSync(join(out, FILM)).equals(readFileSync(join(FILMED, FILM)))).toBe(true);
      await document("edit", FILMED, fresh(), "--format", "lerobot", "--drop-episodes", "1", "--without", CAMERA);
      await document("edit", FILMED, fresh(), "--format", "lerobot", "--task", "Pick");
      expect((await failure(2, "edit", FILMED, fresh(), "--format", "tfds", "--whole-films")).line).toContain("--whole-films works only with LeRobot");
    });
  });

  test("is stopped when the edit is aborted", async () => {
    const control = new AbortController();
    const pid = temp("pid");
    const write = async () => control.abort();
    const cut = withPath(program(`echo $$ > ${pid}; printf film; exec sleep 1000`), () =>
      filmCutter({ folders: [FILMED], signal: control.signal })(cutOf({ write })),
    );
    await expect(cut).rejects.toMatchObject({ name: "AbortError" });
    await vi.waitFor(() => expect(() => process.kill(Number(readFileSync(pid, "utf8")), 0)).toThrow(/ESRCH/), { timeout: 20_000 });
  });

  test("is not started for an unsupported codec or a path outside the folder", async () => {
    await withPath(program("exit 1"), async () => {
      const cut = filmCutter({ folders: [FILMED], signal });
      await expect(cut(cutOf({ codec: "prores" }))).rejects.toThrow(/codecs .*got prores/);
      await expect(cut(cutOf({ path: "../film.mp4" }))).rejects.toMatchObject({ code: "CORRUPT" });
    });
  });
});

if (!hasFfmpeg()) console.error("film-cuts.test.ts: ffmpeg is not installed, and its tests are skipped: apt-get install ffmpeg");

describe.runIf(hasFfmpeg())("with the real ffmpeg", () => {
  const distance = (a: Uint8Array, b: Uint8Array) => a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] as number)), 0) / a.length;

  /** Returns the pixels of each episode. */
  async function pixelsOf(folder: string): Promise<Uint8Array[]> {
    return (await referencesOf(folder)).map((references) =>
      decodeFrames(folder, { path: references[0]?.path ?? "", times: references.map(({ timestamp }) => timestamp), fps: FPS, height: HEIGHT, width: WIDTH }),
    );
  }

  /** Returns the codec, pixel format and frame count according to ffprobe, if it is installed. */
  function probed(film: string): string | undefined {
    const args = [
      "-v",
      "error",
      "-count_frames",
      "-select_streams",
      "v:0",
      "-show_entries",
      "stream=codec_name,pix_fmt,nb_read_frames",
      "-of",
      "csv=p=0",
      film,
    ];
    const { status, stdout } = spawnSync("ffprobe", args, { encoding: "utf8" });
    return status === 0 ? stdout.trim() : undefined;
  }

  async function expectEpisodes(folder: string, numbers: readonly number[]) {
    const [before, after] = [await pixelsOf(FILMED), await pixelsOf(folder)];
    expect(after.map(({ length }) => length / SIZE)).toEqual(numbers.map((number) => (before[number] as Uint8Array).length / SIZE));
    for (const [k, number] of numbers.entries()) expect(distance(after[k] as Uint8Array, before[number] as Uint8Array), `episode ${number}`).toBeLessThan(3);
    // The frames differ, so a frame of the wrong episode would be detected.
    expect(distance((before[0] as Uint8Array).subarray(0, 3 * SIZE), (before[1] as Uint8Array).subarray(0, 3 * SIZE))).toBeGreaterThan(6);
  }

  test("the film contains only the frames of kept episodes, at the times in their steps", async () => {
    const cases = [
      ["1", [0, 2], 9],
      ["0", [1, 2], 7],
    ] as const;
    for (const [dropped, kept, frames] of some(cases, 1)) {
      const out = fresh();
      await document("edit", FILMED, out, "--format", "lerobot", "--drop-episodes", dropped);
      expect([`av1,yuv420p,${frames}`, undefined]).toContain(probed(join(out, FILM)));
      await expectEpisodes(out, kept);
      const { faults, warnings } = JSON.parse((await reprise("check", out, "--json")).stdout);
      expect([faults, warnings.longFilms]).toEqual([{}, undefined]);
      const { features } = JSON.parse(readFileSync(join(out, "meta/info.json"), "utf8"));
      expect(features[CAMERA]).toEqual(JSON.parse(readFileSync(join(FILMED, "meta/info.json"), "utf8")).features[CAMERA]);
    }
  });

  test("a playlist in place of a film does not open other files", async () => {
    const [path, out] = [fresh(), fresh()];
    cpSync(FILMED, path, { recursive: true });
    const other = temp("other.mp4");
    cpSync(join(FILMED, FILM), other);
    writeFileSync(join(path, FILM), `ffconcat version 1.0\nfile ${basename(other)}\n`);
    cpSync(other, join(path, dirname(FILM), basename(other)));
    const { error } = await failure(1, "edit", path, out, "--format", "lerobot", "--drop-episodes", "1");
    expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("ffmpeg cannot cut the film"), file: join(path, FILM) });
  });

  test("filmCutter opens a film whose relative path begins like a URL", async () => {
    const bytes: number[] = [];
    const place = temp("pick:v2");
    cpSync(FILMED, place, { recursive: true });
    const here = process.cwd();
    process.chdir(dirname(place));
    try {
      await filmCutter({ folders: [basename(place)], signal })(cutOf({ codec: "h264", write: async (chunk) => void bytes.push(...chunk) }));
    } finally {
      process.chdir(here);
    }
    expect(bytes.length).toBeGreaterThan(0);
  });

  test.runIf(whole)("version 2.1 has a film per episode, and the films of kept episodes are copied", async () => {
    const [apart, chosen] = [fresh(), fresh()];
    await document("edit", FILMED, apart, "--format", "lerobot", "--lerobot-version", "2.1");
    await expectEpisodes(apart, [0, 1, 2]);
    const film = (folder: string, k: number) => readFileSync(join(folder, `videos/chunk-000/${CAMERA}/episode_00000${k}.mp4`));
    await withPath("/nowhere", () => document("edit", apart, chosen, "--format", "lerobot", "--lerobot-version", "2.1", "--drop-episodes", "1"));
    expect([0, 1].map((k) => film(chosen, k).equals(film(apart, 2 * k)))).toEqual([true, true]);
  });

  test.runIf(whole)("films are cut separately for joined datasets and for the parts of a split", async () => {
    const [joined, parts] = [fresh(), fresh()];
    await document("edit", FILMED, joined, "--format", "lerobot", "--concat", FILMED, "--drop-episodes", "0");
    await expectEpisodes(joined, [1, 2, 0, 1, 2]);
    expect(readFileSync(join(joined, FILM.replace("000.mp4", "001.mp4"))).equals(readFileSync(join(FILMED, FILM)))).toBe(true);
    await document("edit", FILMED, parts, "--format", "lerobot", "--split-into", "train=0.5,val=0.5");
    const frames = ["train", "val"].map((part) => Number(probed(join(parts, part, FILM))?.split(",")[2] ?? 6));
    expect(frames.reduce((a, b) => a + b)).toBe(12);
  });
});
