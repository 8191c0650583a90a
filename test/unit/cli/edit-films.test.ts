/** Tests what `reprise edit` does with the films of LeRobot. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { decodeFrames, ffmpegEncoder, hasFfmpeg } from "../../../src/cli/edit/ffmpeg.ts";
import { writeLeRobot } from "../../../src/datasets/rlds/index.ts";
import { whole } from "../../support/size.ts";
import { CAMERA, contentOf, editFiles, FILMED } from "./edit-data.ts";
import { document, failure, withPath } from "./support.ts";

const { fresh, copied } = editFiles();

describe("films", () => {
  const film = (path: string) => readFileSync(join(path, `videos/${CAMERA}/chunk-000/file-000.mp4`));

  test("are copied unchanged with --whole-films, also in place", async () => {
    for (const inPlace of [false, true]) {
      const path = copied(FILMED);
      const [before, out] = [await contentOf(path), inPlace ? path : fresh()];
      const bytes = film(path);
      await document("edit", path, out, "--drop-episodes", "1", "--whole-films", "--overwrite", ...(inPlace ? [] : ["--format", "lerobot"]));
      expect(film(out).equals(bytes)).toBe(true);
      const topOf = (episode: { steps: unknown[] } | undefined) =>
        episode?.steps.map((step) => (step as { observation: { images: { top: { timestamp: number } } } }).observation.images.top.timestamp);
      const found = (await contentOf(out)).episodes;
      expect(found.length).toBe(2);
      for (const [k, number] of [0, 2].entries())
        for (const [i, time] of (topOf(found[k]) ?? []).entries()) expect(time).toBeCloseTo(topOf(before.episodes[number])?.[i] as number, 6);
    }
  });

  test("stay separate files with statistics in joined datasets", async () => {
    const [a, b, out] = [copied(FILMED), copied(FILMED), fresh()];
    await document("edit", a, out, "--format", "lerobot", "--concat", b, "--drop-episodes", "0", "--whole-films");
    const { episodes } = await contentOf(out);
    const paths = episodes.map(({ steps }) => (steps[0] as { observation: { images: { top: { path: string } } } }).observation.images.top.path);
    expect(paths.map((path) => basename(path))).toEqual(["file-000.mp4", "file-000.mp4", "file-001.mp4", "file-001.mp4", "file-001.mp4"]);
    for (const path of new Set(paths)) expect(readFileSync(join(out, path)).equals(film(a))).toBe(true);
    const stats = JSON.parse(readFileSync(join(out, "meta/stats.json"), "utf8"));
    expect(stats[CAMERA].mean).toBeDefined();
  });

  test("are renamed with their column", async () => {
    const out = fresh();
    await document("edit", FILMED, out, "--format", "lerobot", "--rename", `${CAMERA}=observation.images.wrist`);
    expect(readFileSync(join(out, "videos/observation.images.wrist/chunk-000/file-000.mp4")).equals(film(FILMED))).toBe(true);
    const again = fresh();
    await document("edit", out, again, "--format", "lerobot", "--rename", `observation.images.wrist=${CAMERA}`);
    const stripped = async (path: string) => (await contentOf(path)).episodes;
    const convert = fresh();
    await document("convert", FILMED, convert, "--format", "lerobot");
    expect(await stripped(again)).toEqual(await stripped(convert));
    const stats = (path: string) => JSON.parse(readFileSync(join(path, "meta/stats.json"), "utf8"));
    expect(stats(again)).toEqual(stats(convert));
  });

  test("that need encoding are rejected by name without ffmpeg, and can be left out", async () => {
    await withPath("/nowhere", async () => {
      const { error } = await failure(1, "edit", FILMED, fresh(), "--format", "lerobot", "--resample-fps", "2");
      expect(error.message).toMatch(/^observation\/images\/top .*10 frames per second.* 2\. Install ffmpeg/);
      await document("edit", FILMED, fresh(), "--format", "lerobot", "--resample-fps", "2", "--without", CAMERA);
      const other = await failure(1, "edit", FILMED, fresh(), "--format", "lerobot", "--swap-channels", CAMERA);
      expect(other.error.message).toContain("observation/images/top is a film whose channels cannot be swapped");
    });
    const { error } = await failure(1, "edit", FILMED, fresh(".jsonl"), "--swap-channels", CAMERA);
    expect(error.message).toMatch(/^observation\/images\/top is a film, .*swap/);
  });

  describe.runIf(whole && hasFfmpeg())("with ffmpeg", () => {
    const [height, width] = [64, 96];

    /** Returns the pixels of all frames of each episode. */
    async function framesOf(folder: string, fps: number): Promise<Uint8Array[]> {
      const { episodes } = await contentOf(folder);
      return episodes.map(({ steps }) => {
        const references = steps.map((step) => (step as { observation: { images: { top: { path: string; timestamp: number } } } }).observation.images.top);
        return decodeFrames(folder, { path: references[0]?.path ?? "", times: references.map(({ timestamp }) => timestamp), fps, height, width });
      });
    }

    const size = height * width * 3;
    const distance = (a: Uint8Array, b: Uint8Array) => a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] as number)), 0) / a.length;

    test("resampled films contain the nearest frames", async () => {
      const out = fresh();
      await document("edit", FILMED, out, "--format", "lerobot", "--resample-fps", "5", "--drop-episodes", "1");
      const [before, after] = [await framesOf(FILMED, 10), await framesOf(out, 5)];
      expect(JSON.parse(readFileSync(join(out, "meta/info.json"), "utf8")).features[CAMERA].info).toMatchObject({ "video.fps": 5, "video.codec": "h264" });
      expect(after.length).toBe(2);
      for (const [k, episode] of after.entries()) {
        const source = before[[0, 2][k] as number] as Uint8Array;
        const [count, frames] = [source.length / size, episode.length / size];
        for (let i = 0; i < frames; i++) {
          const row = i === frames - 1 ? count - 1 : 2 * i;
          const wanted = source.subarray(row * size, (row + 1) * size);
          expect(distance(episode.subarray(i * size, (i + 1) * size), wanted), `frame ${i} of episode ${k}`).toBeLessThan(5);
        }
      }
    });

    test("--swap-channels swaps red and blue", async () => {
      const [folder, out] = [fresh(), fresh()];
      const flags = (i: number) => ({ is_first: i === 0, is_last: i === 9, is_terminal: false });
      // Red increases to the right, and blue over time.
      const pixels = (i: number) => Uint8Array.from({ length: size }, (_, k) => (k % 3 === 0 ? 2 * (Math.floor(k / 3) % width) : k % 3 === 1 ? 60 : 20 * i));
      const step = (i: number) => ({
        observation: { images: { top: { data: pixels(i), shape: [height, width, 3] } } },
        action: [i],
        reward: 0,
        discount: 1,
        ...flags(i),
      });
      const episodes = [0, 1].map(() => ({ final_step: "transition", steps: Array.from({ length: 10 }, (_, i) => step(i)) }));
      const videos = { videos: ["observation/images/top"], videoEncoder: ffmpegEncoder };
      await writeLeRobot(episodes as never, folder, { fps: 10, ...videos });
      await document("edit", folder, out, "--format", "lerobot", "--swap-channels", CAMERA);
      const [before, after] = [await framesOf(folder, 10), await framesOf(out, 10)];
      for (const [k, episode] of after.entries()) {
        const source = before[k] as Uint8Array;
        const exchanged = source.map((_, i) => source[i - (i % 3) + 2 - (i % 3)] as number);
        expect([distance(episode, exchanged) < 5, distance(source, exchanged) > 20]).toEqual([true, true]);
      }
    });

    test("an error names a damaged film, and nothing is written", async () => {
      const [path, out] = [copied(FILMED), fresh()];
      writeFileSync(join(path, `videos/${CAMERA}/chunk-000/file-000.mp4`), "no film");
      const { error } = await failure(1, "edit", path, out, "--format", "lerobot", "--resample-fps", "5");
      expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("ffmpeg cannot decode the film") });
      expect(existsSync(out)).toBe(false);
    });
  });
});
