/** Tests `reprise edit`: edits in all formats, edits in place, and errors. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { EpisodeTable } from "../../../page/look/model/episode-table.ts";
import { flagsFile } from "../../../page/look/model/flags-file.ts";
import { FILES } from "../../../src/cli/convert.ts";
import { decodeFrames, ffmpegEncoder, hasFfmpeg } from "../../../src/cli/edit/ffmpeg.ts";
import { mapEpisodes, openRlds, type RldsDataset, type StepSpec, writeLeRobot, writeMinari, writeTfds } from "../../../src/datasets/rlds/index.ts";
import { TestRandom } from "../../support/random.ts";
import { FLAGS, leaf, made } from "../../support/random-steps.ts";
import { all } from "../../support/rlds-data.ts";
import { scaled, slow, some, whole } from "../../support/size.ts";
import { type Written, writtenFormats } from "./formats.ts";
import { CARTPOLE, DATA, document, failure, HALF_CHEETAH, PIXELS, reprise, started, temporary } from "./support.ts";

const temp = temporary();
const FILMED = join(DATA, "wild/lerobot_video");
const CAMERA = "observation.images.top";
let names = 0;
const fresh = (ending = "") => temp(`${names++}${ending}`);

async function contentOf(path: string, options: object = {}) {
  const reader = await openRlds(path, options);
  const episodes = await all(reader);
  await reader.close();
  return { stepSpec: reader.stepSpec, metadataSpec: reader.metadataSpec, episodes };
}

const idsOf = async (path: string, options: object = {}) => (await contentOf(path, options)).episodes.map(({ id }) => Number(id));

/** Returns the path of a writable copy. */
function copied(from: string): string {
  const to = fresh(statSync(from).isDirectory() ? "" : from.slice(from.lastIndexOf(".")));
  cpSync(from, to, { recursive: true });
  return to;
}

/** Returns all files of a folder by path, or the single file. */
function filesOf(folder: string): { readonly [path: string]: string } {
  if (!statSync(folder).isDirectory()) return { "": readFileSync(folder).toString("latin1") };
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ name, parentPath }) => join(parentPath, name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(folder.length + 1), readFileSync(path).toString("latin1")]));
}

const SPEC = {
  observation: { state: leaf("f32", [3]), image: leaf("u8", [4, 5, 3]) },
  ...{ action: leaf("f64", [2]), reward: leaf("f32"), discount: leaf("f32"), note: leaf("string"), phase: leaf("i32"), ...FLAGS },
} as unknown as StepSpec;

/** Returns random episodes that declare the kind of their last step. */
function random(lengths: readonly number[], first = 0): RldsDataset<unknown> {
  const metadataSpec = { id: leaf("i64"), final_step: leaf("string") } as { readonly [name: string]: StepSpec };
  const metadata = (k: number) => ({ id: BigInt(first + k), final_step: k % 2 === 0 ? "observation" : "transition" });
  return made(SPEC, lengths, { metadataSpec, metadata, terminal: (k) => k % 3 !== 0 }) as unknown as RldsDataset<unknown>;
}

/** Returns the episodes with faults that `repair` fixes: wrong flags and non-finite numbers. */
function spoiled(lengths: readonly number[], chance: TestRandom): RldsDataset<unknown> {
  const whole = random(lengths);
  const faults: readonly (() => object)[] = [
    () => ({ is_last: true }),
    () => ({ is_first: true }),
    () => ({ reward: Number.POSITIVE_INFINITY }),
    () => ({ action: [Number.NaN, 1] }),
  ];
  const steps = async function* (all: AsyncIterable<object> | Iterable<object>) {
    let i = 0;
    // The second step of an episode always has a fault.
    for await (const step of all) yield i++ === 1 || chance.below(4) === 0 ? { ...step, ...faults[chance.below(faults.length)]?.() } : step;
  };
  return mapEpisodes(
    whole as RldsDataset,
    ((episode: { readonly steps: Iterable<object> }) => ({ ...episode, steps: steps(episode.steps) })) as never,
  ) as RldsDataset<unknown>;
}

const WRITTEN = writtenFormats(fresh);
const FORMATS = Object.keys(WRITTEN);
/** The options that formats require because JSON lines do not contain the values. */
const STATED: { readonly [format: string]: readonly string[] } = {
  tfds: ["--name", "demo"],
  minari: ["--id", "demo-v0"],
  lerobot: ["--fps", "10", "--where", "length > 1"],
};
/** Omits the frame index, which LeRobot counts across episodes. */
const withoutIndex = (episodes: readonly unknown[][]) => episodes.map((steps) => steps.map((step) => ({ ...(step as object), index: undefined })));
const stepsOf = async (path: string) => withoutIndex((await contentOf(path)).episodes.map(({ steps }) => steps));
const LENGTHS = [5, 2, 7, 3];

describe.each(some(FORMATS, 1))("%s", (format) => {
  const { write, target } = WRITTEN[format] as Written;

  test("an edit without options is the identity on values", async () => {
    const path = await write(random(LENGTHS));
    const before = await contentOf(path);
    const { out, path: written, flags } = target();
    const { episodes, steps } = await document("edit", path, out, ...flags);
    expect([episodes, steps]).toEqual([4, before.episodes.reduce((sum, episode) => sum + episode.steps.length, 0)]);
    expect(await contentOf(written)).toEqual(before);
  });

  test("in place it is, too, and what is not of the dataset stays", async () => {
    const path = await write(random(LENGTHS));
    const before = await contentOf(path);
    const isFolder = statSync(path).isDirectory();
    const note = isFolder ? join(path, "NOTES.md") : undefined;
    if (note !== undefined) writeFileSync(note, "mine");
    // Minari infos are read only on request, so a rewrite would delete them.
    const open = format === "minari" ? ["--open", "infos=true"] : [];
    await document("edit", path, path, "--overwrite", ...open);
    expect(await contentOf(path)).toEqual(before);
    if (note !== undefined) expect(readFileSync(note, "utf8")).toBe("mine");
    expect(readdirSync(dirname(path)).filter((name) => name.startsWith(".incomplete"))).toEqual([]);
    await document("edit", path, path, "--overwrite", "--drop-episodes", "0,2", ...open);
    expect(await stepsOf(path)).toEqual(withoutIndex([1, 3].map((k) => before.episodes[k]?.steps ?? [])));
  });

  test("the parts of a concatenation are the datasets", async () => {
    const [a, b] = [await write(random(LENGTHS)), await write(random([3, 6]))];
    const [joined, first, second] = [target(), target(), target()];
    await document("edit", a, joined.out, "--concat", b, ...joined.flags);
    await document("edit", joined.path, first.out, "--episodes", "0-3", ...first.flags);
    await document("edit", joined.path, second.out, "--episodes", "4-", ...second.flags);
    expect(await stepsOf(first.path)).toEqual(await stepsOf(a));
    expect(await stepsOf(second.path)).toEqual(await stepsOf(b));
  });

  test("a column that is renamed twice, and a cast there and back, are the identity", async () => {
    const path = await write(random(LENGTHS));
    const before = await contentOf(path);
    const [there, back] = [target(), target()];
    await document("edit", path, there.out, ...there.flags, "--rename", "observation.state=observation.joints", "--cast", "action=f32");
    expect((await contentOf(there.path)).stepSpec).toMatchObject({ action: { dtype: "f32" }, observation: { joints: { dtype: "f32" } } });
    await document("edit", there.path, back.out, ...back.flags, "--rename", "observation.joints=observation.state", "--cast", "action=f64");
    expect(await contentOf(back.path)).toEqual(before);
  });

  test("channels that change places twice are the identity", async () => {
    const path = await write(random(LENGTHS));
    const before = await contentOf(path);
    const [there, back] = [target(), target()];
    await document("edit", path, there.out, "--swap-channels", "observation/image", ...there.flags);
    expect((await contentOf(there.path)).episodes).not.toEqual(before.episodes);
    await document("edit", there.path, back.out, "--swap-channels", "observation.image", ...back.flags);
    expect(await contentOf(back.path)).toEqual(before);
  });

  test("a check of what --mode repair wrote is clean", async () => {
    const random = new TestRandom(format.length);
    const path = await (WRITTEN.jsonl as Written).write(spoiled(LENGTHS, random));
    expect(JSON.parse((await reprise("check", path, "--json")).stdout)).toMatchObject({ clean: false });
    const { out, path: written, flags } = target();
    await document("edit", path, out, ...flags, ...(STATED[format] ?? []), "--mode", "repair");
    expect(await document("check", written, "--ignore", "warnings")).toMatchObject({ clean: true, complete: true, faults: {} });
  });

  test("random edits are what the same functions make of the episodes", async () => {
    const path = await write(random(LENGTHS));
    const before = await contentOf(path);
    for (let run = 0; run < scaled(slow ? 8 : 4, 1); run++) {
      const kept = [0, 1, 2, 3].filter((k) => ((run + 5) >> k) & 1);
      const { out, path: written, flags } = target();
      await document("edit", path, out, ...flags, "--episodes", kept.join(","), "--where", "length > 0");
      expect(await stepsOf(written)).toEqual(withoutIndex(kept.map((k) => before.episodes[k]?.steps ?? [])));
    }
  });
});

describe.each(some(FILES, 1))("a file that ends with %s", (ending) => {
  async function written(): Promise<string> {
    const path = fresh(ending);
    // The data contains only types that every format supports.
    await document("convert", await (WRITTEN.parquet as Written).write(random(LENGTHS)), path, "--without", "observation/image");
    return path;
  }

  test("stays the same if nothing is changed, in place as well", async () => {
    const path = await written();
    const [before, out] = [await contentOf(path), fresh(ending)];
    await document("edit", path, out);
    expect(await contentOf(out)).toEqual(before);
    await document("edit", path, path, "--overwrite");
    expect(await contentOf(path)).toEqual(before);
    await document("edit", path, path, "--overwrite", "--drop-episodes", "1");
    expect((await contentOf(path)).episodes.map(({ steps }) => steps.length)).toEqual([0, 2, 3].map((k) => before.episodes[k]?.steps.length));
  });

  test("is a part of its own with --split-into", async () => {
    const [path, out] = [await written(), fresh()];
    const { format, parts } = await document(
      "edit",
      path,
      out,
      "--split-into",
      "a=0.5,b=0.5",
      "--format",
      (await document("edit", path, fresh(ending))).format,
    );
    expect(parts.map(({ part, episodes }: { part: string; episodes: number }) => [part, episodes])).toEqual([
      ["a", 2],
      ["b", 2],
    ]);
    const name = readdirSync(out).find((entry) => entry === "a" || entry.startsWith("a."));
    expect([format, (await contentOf(join(out, name as string))).episodes.length]).toEqual([format, 2]);
  });
});

describe("options", () => {
  const source = () => (WRITTEN.parquet as Written).write(random(new Array(20).fill(2)));

  test("a folder OUT keeps the format of a folder IN, and the older version of LeRobot", async () => {
    const kept: [from: string, words: string[], expected: object][] = [
      [FILMED, ["--whole-films"], { format: "lerobot", about: { codebase_version: "v3.0" } }],
      [join(DATA, "extra/lerobot_v2"), ["--without", "observation.images"], { format: "lerobot", about: { codebase_version: "v2.1" } }],
      [CARTPOLE, [], { format: "tfds" }],
    ];
    for (const [from, words, expected] of kept) {
      const out = fresh();
      await document("edit", from, out, "--episodes", "0", ...words);
      const reader = await openRlds(out);
      expect(reader).toMatchObject(expected);
      await reader.close();
    }
  });

  test("flags of the page, numbers and conditions choose together", async () => {
    const [path, flags, out] = [await source(), fresh(".json"), fresh(".jsonl")];
    const table = new EpisodeTable();
    table.expect(20);
    for (const episode of [7, 3]) table.flag(episode, true);
    writeFileSync(flags, flagsFile("x", table));
    await document("edit", path, out, "--episodes", "0-9", "--drop-episodes", "0,5-6", "--flags", flags, "--where", "id != 8");
    expect(await idsOf(out)).toEqual([1, 2, 4, 9]);
    for (const [text, code] of [
      ["[1]", "CORRUPT"],
      ['{"flagged":[-1]}', "CORRUPT"],
      ["x", "CORRUPT"],
    ] as const) {
      writeFileSync(flags, text);
      expect((await failure(1, "edit", path, out, "--overwrite", "--flags", flags)).error).toMatchObject({ code, file: flags });
    }
    expect((await failure(1, "edit", path, out, "--flags", fresh())).error.code).toBe("NOT_FOUND");
  });

  test("parts are datasets of their own, or splits of TFDS", async () => {
    const [path, parts, tfds] = [await source(), fresh(), fresh()];
    const result = await document("edit", path, parts, "--format", "parquet", "--split-into", "train=0.8,val=0.2", "--seed", "3");
    expect(result.parts).toMatchObject([
      { part: "train", episodes: 16 },
      { part: "val", episodes: 4 },
    ]);
    const [train, val] = [await idsOf(join(parts, "train")), await idsOf(join(parts, "val"))];
    expect([...train, ...val].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    await document("edit", path, tfds, "--name", "demo", "--split-into", "train=0.8,val=0.2", "--seed", "3");
    expect(await idsOf(join(tfds, "demo"), { split: "val" })).toEqual(val);
    expect(await idsOf(join(tfds, "demo"), { split: "train" })).toEqual(train);
    const lines = fresh();
    await document("edit", path, lines, "--format", "jsonl", "--split-into", "train=0.8,val=0.2", "--seed", "4");
    expect(await idsOf(join(lines, "val.jsonl"))).not.toEqual(val);
  });

  test("a task of all episodes, or of some", async () => {
    const [path, out] = [await source(), fresh(".jsonl")];
    await document("edit", path, out, "--task", "Place = there", "--task", "1-2=Pick", "--task", "2=Pick again", "--episodes", "1-3");
    expect((await contentOf(out)).episodes.map(({ task }) => task)).toEqual(["Pick", "Pick again", "Place = there"]);
    const lerobot = fresh();
    await document("edit", FILMED, lerobot, "--format", "lerobot", "--task", "Push");
    expect((await contentOf(lerobot)).episodes.map(({ steps }) => (steps[0] as { task: string }).task)).toEqual(["Push", "Push", "Push"]);
  });

  test.runIf(whole)("another rate is that of LeRobot, and the returns stay", async () => {
    const [out, again] = [fresh(), fresh()];
    await document("edit", PIXELS, out, "--format", "lerobot", "--resample-fps", "10", "--source-fps", "50", "--episodes", "0-2");
    expect(JSON.parse(readFileSync(join(out, "meta/info.json"), "utf8")).fps).toBe(10);
    const returnsOf = async (path: string) => (await document("inspect", path)).returns;
    await document("convert", PIXELS, again, "--format", "lerobot", "--fps", "50", "--from-split", "train[:3]");
    const [found, wanted] = [await returnsOf(out), await returnsOf(again)];
    expect([found.min, found.max, found.mean]).toEqual([wanted.min, wanted.max, wanted.mean]);
    const lengths = (await contentOf(again)).episodes.map(({ steps }) => steps.length);
    expect((await contentOf(out)).episodes.every(({ steps }, k) => Math.abs(steps.length - (lengths[k] as number) / 5) <= 1.5)).toBe(true);
  });

  test("faults are handled as convert does, and errors name the episodes of IN", async () => {
    const file = fresh(".jsonl");
    const line = (episode: number, i: number, reward: unknown) =>
      JSON.stringify({ episode, observation: [i], action: 0, reward, is_first: i === 0, is_last: i === 1, is_terminal: false });
    writeFileSync(
      file,
      [0, 1, 2]
        .flatMap((k) => [0, 1].map((i) => line(k, i, k === 2 && i === 0 ? "NaN" : 1)))
        .join("\n")
        .replaceAll('"NaN"', "NaN"),
    );
    const { error } = await failure(1, "edit", file, fresh(".parquet"), "--episodes", "1-");
    expect(error).toMatchObject({ code: "INVALID_DATA", episode: 2 });
    const { episodes, report } = await document("edit", file, fresh(".parquet"), "--mode", "drop");
    expect([episodes, report.dropped.episodes.count]).toEqual([2, 1]);
    // Faults of a dropped episode are not reported.
    await document("edit", file, fresh(".parquet"), "--drop-episodes", "2");
  });

  test("a spec that differs is named with the files", async () => {
    const [path, cast] = [await source(), fresh(".parquet")];
    await document("edit", path, cast, "--cast", "action=f32");
    const { error } = await failure(1, "edit", path, fresh(".parquet"), "--concat", cast);
    expect(error.code).toBe("SPEC_MISMATCH");
    expect(error.message).toContain(`the steps of ${cast} must match those of ${path}, but action is f32 [2], not f64 [2]`);
    const { episodes } = await document("edit", path, fresh(".parquet"), "--concat", cast, cast, "--cast", "action=f32");
    expect(episodes).toBe(60);
  });
});

describe("films", () => {
  const film = (path: string) => readFileSync(join(path, `videos/${CAMERA}/chunk-000/file-000.mp4`));

  test("are copied as they are with --whole-films, in place as well", async () => {
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

  test("of joined datasets are side by side, each with its statistics", async () => {
    const [a, b, out] = [copied(FILMED), copied(FILMED), fresh()];
    await document("edit", a, out, "--format", "lerobot", "--concat", b, "--drop-episodes", "0", "--whole-films");
    const { episodes } = await contentOf(out);
    const paths = episodes.map(({ steps }) => (steps[0] as { observation: { images: { top: { path: string } } } }).observation.images.top.path);
    expect(paths.map((path) => basename(path))).toEqual(["file-000.mp4", "file-000.mp4", "file-001.mp4", "file-001.mp4", "file-001.mp4"]);
    for (const path of new Set(paths)) expect(readFileSync(join(out, path)).equals(film(a))).toBe(true);
    const stats = JSON.parse(readFileSync(join(out, "meta/stats.json"), "utf8"));
    expect(stats[CAMERA].mean).toBeDefined();
  });

  test("get the name that their column gets", async () => {
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

  /** Runs a task while PATH contains no programs. */
  async function withoutPrograms<T>(task: () => Promise<T>): Promise<T> {
    const { PATH } = process.env;
    process.env.PATH = "/nowhere";
    try {
      return await task();
    } finally {
      process.env.PATH = PATH;
    }
  }

  test("that would have to be encoded again are refused by their names without ffmpeg, and may be left out", async () => {
    await withoutPrograms(async () => {
      const { error } = await failure(1, "edit", FILMED, fresh(), "--format", "lerobot", "--resample-fps", "2");
      expect(error.message).toContain("observation/images/top is a film of 10 frames per second, and cannot be copied at a rate of 2. Install ffmpeg");
      await document("edit", FILMED, fresh(), "--format", "lerobot", "--resample-fps", "2", "--without", CAMERA);
      const other = await failure(1, "edit", FILMED, fresh(), "--format", "lerobot", "--swap-channels", CAMERA);
      expect(other.error.message).toContain("observation/images/top is a film whose channels cannot be swapped");
    });
    const { error } = await failure(1, "edit", FILMED, fresh(".jsonl"), "--swap-channels", CAMERA);
    expect(error.message).toContain("observation/images/top is a film, and Reprise cannot swap the channels");
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

    test("films get another rate, frame by frame the nearest ones", async () => {
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

    test("red and blue of films change places", async () => {
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

    test("a film that is damaged is an error with its name, and nothing is written", async () => {
      const [path, out] = [copied(FILMED), fresh()];
      writeFileSync(join(path, `videos/${CAMERA}/chunk-000/file-000.mp4`), "no film");
      const { error } = await failure(1, "edit", path, out, "--format", "lerobot", "--resample-fps", "5");
      expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("ffmpeg cannot decode the film") });
      expect(existsSync(out)).toBe(false);
    });
  });
});

describe("the target", () => {
  test("stays as it was if the edit fails, and nothing is left next to it", async () => {
    const path = await (WRITTEN.lerobot as Written).write(random(LENGTHS));
    const [before, beside] = [filesOf(path), readdirSync(dirname(path)).sort()];
    await failure(1, "edit", path, path, "--overwrite", "--cast", "action=u8");
    await failure(1, "edit", path, path, "--overwrite", "--where", "length > 100");
    await failure(2, "edit", path, path, "--overwrite", "--episodes", "4");
    expect(filesOf(path)).toEqual(before);
    expect(readdirSync(dirname(path)).sort()).toEqual(beside);
    const out = join(fresh(), "deep", "er.parquet");
    await failure(1, "edit", path, out, "--where", "length > 100");
    expect(existsSync(dirname(dirname(out)))).toBe(false);
  });

  test("is replaced with --overwrite only, and named in the error", async () => {
    const [path, out] = [await (WRITTEN.jsonl as Written).write(random(LENGTHS)), fresh()];
    await document("edit", path, out, "--format", "lerobot", "--fps", "10");
    const { error } = await failure(1, "edit", path, out, "--format", "lerobot", "--fps", "10");
    expect(error.code).toBe("IO");
    expect(error.message).toContain("--overwrite");
    expect([error.file, error.message].join()).not.toContain(".incomplete");
    expect(error.file.startsWith(out)).toBe(true);
    const { line } = await failure(2, "edit", path, path);
    expect(line).toContain("--overwrite");
  });

  test("other splits of TFDS stay where one is edited in place", async () => {
    const folder = fresh();
    for (const split of ["train", "val"]) await writeTfds(random(LENGTHS, split === "train" ? 0 : 10), folder, { name: "demo", split });
    await document("edit", join(folder, "demo"), join(folder, "demo"), "--overwrite", "--from-split", "val", "--drop-episodes", "1");
    expect(await idsOf(join(folder, "demo"), { split: "train" })).toEqual([0, 1, 2, 3]);
    expect(await idsOf(join(folder, "demo"), { split: "val" })).toEqual([10, 12, 13]);
    const { line } = await failure(2, "edit", join(folder, "demo"), join(folder, "demo"), "--overwrite", "--from-split", "train[:2]");
    expect(line).toContain("train[:2] is not a single split");
  });

  test("a dataset below the folder is not edited in place of the folder", async () => {
    const [tfds, minari] = [fresh(), fresh()];
    await writeTfds(random(LENGTHS), tfds, { name: "demo" });
    await document("convert", join(tfds, "demo"), minari, "--format", "minari");
    for (const [folder, open] of [
      [tfds, []],
      [minari, ["--open", "infos=true"]],
    ] as const) {
      const before = filesOf(folder);
      const { line } = await failure(2, "edit", folder, folder, "--overwrite", "--drop-episodes", "0", ...open);
      expect(line).toContain(`the dataset is in a subfolder of ${folder}`);
      expect(filesOf(folder)).toEqual(before);
    }
  });

  test.each(["csv", "npz", "jsonl"])("a file of %s is not edited or converted in place of its folder", async (format) => {
    const folder = fresh();
    mkdirSync(folder);
    await document("convert", join(DATA, "wild/epcols.jsonl"), join(folder, `a.${format}`));
    // An edit of JSON lines requires the path of the file, so only the conversion is tested.
    for (const verb of format === "jsonl" ? ["convert"] : ["edit", "convert"]) {
      const { error } = await failure(1, verb, folder, folder, "--overwrite", ...(verb === "convert" ? ["--format", format] : []));
      expect(error).toMatchObject({ code: "IO", file: join(folder, `a.${format}`) });
      expect(error.message).toContain("the folder contains another file of this format");
      expect(readdirSync(folder)).toEqual([`a.${format}`]);
    }
  });

  test.each([".json", ".tsv"])("a file %s is read, and not edited in place", async (ending) => {
    const path = fresh(ending);
    const [header, ...rows] = ["observation,action,reward,done", "1,0,1,false", "2,1,1,true"];
    writeFileSync(path, ending === ".json" ? '{"observation": 1, "action": 0, "reward": 1}' : [header, ...rows].join("\n").replaceAll(",", "\t"));
    const { line } = await failure(2, "edit", path, path, "--overwrite");
    expect(line).toContain(`edit can read ${path}, but cannot write it`);
  });

  test("splits of robomimic have the episodes that they had, in place as well, and none is deleted unasked", async () => {
    const source = join(DATA, "wild/hdf5_robots/robomimic.hdf5");
    const splitsOf = async (file: string) => {
      const reader = await openRlds(file);
      await reader.close();
      return Promise.all(
        (reader.splits ?? []).map(async (split) => [split, (await contentOf(file, { split })).episodes.map((episode) => episode.num_samples)]),
      );
    };
    const before = await splitsOf(source);
    expect(before.map(([split]) => split)).toEqual(["train", "valid"]);
    const path = copied(source);
    for (const [verb, out] of [
      ["edit", path],
      ["edit", fresh(".hdf5")],
      ["convert", fresh(".hdf5")],
    ] as const) {
      await document(verb, path, out, "--strict", ...(out === path ? ["--overwrite"] : []));
      expect(await splitsOf(out)).toEqual(before);
    }
    const other = fresh(".hdf5");
    await document("edit", path, other, "--drop-episodes", "0", "--cast", "reward=f64", "--concat", path);
    expect((await splitsOf(other)).map(([split, episodes]) => [split, episodes?.length])).toEqual([
      ["train", 1],
      ["valid", 2],
    ]);
    const bytes = filesOf(path);
    const { line } = await failure(2, "edit", path, path, "--overwrite", "--from-split", "valid");
    expect(line).toContain(`--from-split valid reads a part of ${path}, and the other episodes would be deleted`);
    expect(filesOf(path)).toEqual(bytes);
    // A split that is read separately is an independent dataset.
    const alone = fresh(".hdf5");
    await document("edit", path, alone, "--from-split", "valid");
    expect(await splitsOf(alone)).toEqual([["train", before[1]?.[1]]]);
  });

  test.each(some(["parquet", "jsonl", "npz", "csv", "tfds", "lerobot", "minari"], 1))(
    "splits of robomimic are stated as lost in %s, or refused",
    async (format) => {
      const source = join(DATA, "wild/hdf5_robots/robomimic.hdf5");
      for (const verb of ["convert", "edit"]) {
        const options = ["--format", format, ...(format === "lerobot" ? ["--fps", "10"] : [])];
        const { losses } = await document(verb, source, fresh(), ...options);
        expect(losses).toContainEqual({ what: "splits", reason: expect.stringContaining("robomimic"), episodes: 2 });
        const out = fresh();
        const { error } = await failure(1, verb, source, out, ...options, "--strict");
        expect(error).toMatchObject({ code: "UNSUPPORTED" });
        expect(existsSync(out)).toBe(false);
      }
      const alone = await document("convert", source, fresh(), "--format", format, "--from-split", "valid", ...(format === "lerobot" ? ["--fps", "10"] : []));
      expect(alone.losses.filter(({ what }: { readonly what: string }) => what === "splits")).toEqual([]);
    },
  );

  test("what is not read of a dataset is not deleted in its place unasked", async () => {
    const [folder, spec] = [fresh(), { ...SPEC, mark: leaf("f32") } as unknown as StepSpec];
    await writeMinari(made(spec, [3, 4]) as unknown as RldsDataset<unknown>, folder, { id: "a-v0" });
    const path = join(folder, "a-v0");
    const before = [filesOf(path), await contentOf(path, { infos: true })] as const;
    const { line } = await failure(2, "edit", path, path, "--overwrite", "--drop-episodes", "0");
    expect(line).toContain(
      `infos of ${path} would be deleted, because they are not read. Pass another OUT, or one of these options: --open infos=true reads them, --open infos=false deletes them`,
    );
    expect(filesOf(path)).toEqual(before[0]);
    await document("edit", path, path, "--overwrite", "--drop-episodes", "0", "--open", "infos=true");
    expect((await contentOf(path, { infos: true })).episodes.map(({ steps }) => steps)).toEqual(before[1].episodes.slice(1).map(({ steps }) => steps));
    await document("edit", path, path, "--overwrite", "--open", "infos=false");
    expect(Object.keys((await contentOf(path, { infos: true })).stepSpec)).not.toContain("infos");
  });

  test("a path of what is not read names the option that reads it", async () => {
    const [folder, spec] = [fresh(), { ...SPEC, mark: leaf("f32") } as unknown as StepSpec];
    await writeMinari(made(spec, [3, 4]) as unknown as RldsDataset<unknown>, folder, { id: "a-v0" });
    const path = join(folder, "a-v0");
    for (const change of [
      ["--where", "mark"],
      ["--cast", "infos/mark=f64"],
    ]) {
      const { line } = await failure(2, "edit", path, fresh(), "--format", "jsonl", ...change);
      expect(line).toContain("infos of the source are not read: --open infos=true reads them");
    }
    for (const [flag, ...values] of [
      ["--only", "infos/mark"],
      ["--without", "infos.mark"],
      ["--rename", "infos/mark=mark"],
    ] as const) {
      for (const verb of ["edit", "convert"]) {
        const { line } = await failure(2, verb, path, fresh(), "--format", "jsonl", flag, ...values);
        expect(line).toMatch(/ must name columns .*\. The reader skips infos: --open infos=true reads them/);
      }
    }
    expect((await failure(2, "edit", path, fresh(), "--format", "jsonl", "--only", "marks")).line).not.toContain("not read");
    await document("edit", path, fresh(".jsonl"), "--where", "infos/mark > -1e9", "--open", "infos=true");
    const { line } = await failure(2, "edit", path, fresh(".jsonl"), "--where", "mark", "--open", "infos=true");
    expect(line).not.toContain("not read");
  });

  test("what a killed process moved aside is put back by the next edit", async () => {
    const path = await (WRITTEN.lerobot as Written).write(random(LENGTHS));
    const before = await contentOf(path);
    const aside = join(dirname(path), `.incomplete-${basename(path)}-edit`);
    mkdirSync(join(aside, "new"), { recursive: true });
    renameSync(path, join(aside, "old"));
    await document("edit", path, path, "--overwrite");
    expect(await contentOf(path)).toEqual(before);
    expect(existsSync(aside)).toBe(false);
  });

  test("a second edit of the same target waits for nobody: it is an error", async () => {
    const path = await (WRITTEN.lerobot as Written).write(random(LENGTHS));
    const { Replacement } = await import("../../../src/cli/edit/replacement.ts");
    const first = await Replacement.begin(path, []);
    const { error } = await failure(1, "edit", path, path, "--overwrite");
    expect(error.code).toBe("IO");
    await first.discard();
    await document("edit", path, path, "--overwrite");
  });

  test("a link to a dataset stays a link", async () => {
    const { symlinkSync, lstatSync } = await import("node:fs");
    const [path, link] = [await (WRITTEN.lerobot as Written).write(random(LENGTHS)), fresh()];
    symlinkSync(path, link);
    await document("edit", link, link, "--overwrite", "--episodes", "1");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect((await contentOf(path)).episodes.length).toBe(1);
  });

  test("a pipe in its place is refused, and stays", async () => {
    const { execFileSync } = await import("node:child_process");
    const [path, pipe] = [await (WRITTEN.lerobot as Written).write(random(LENGTHS)), `${fresh()}.jsonl`];
    mkdirSync(dirname(pipe), { recursive: true });
    execFileSync("mkfifo", [pipe]);
    const { error } = await failure(1, "edit", path, pipe, "--overwrite");
    expect(error).toMatchObject({ code: "IO", message: expect.stringContaining("the path is a pipe or a device, which would be replaced") });
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  test.runIf(whole)("of Minari's HDF5 and of LeRobot v2.1 is the form that is written", async () => {
    const minari = copied(join(DATA, "minari/cartpole/scripted-v0"));
    const before = await contentOf(minari);
    await document("edit", minari, minari, "--overwrite", "--drop-episodes", "0");
    expect((await contentOf(minari)).episodes.map(({ steps }) => steps)).toEqual(before.episodes.slice(1).map(({ steps }) => steps));
    const lerobot = copied(join(DATA, "extra/lerobot_v2"));
    const { episodes } = await contentOf(lerobot);
    await document("edit", lerobot, lerobot, "--overwrite", "--without", "observation.images.wrist", "--episodes", "1-");
    expect((await contentOf(lerobot)).episodes.length).toBe(episodes.length - 1);
  });
});

describe("wrong usage", () => {
  test.each([
    [["--cast", "action"], "--cast requires LEAF=DTYPE"],
    [["--cast", "nothing=f32"], "a path in --cast must be a leaf of the steps"],
    [["--episodes", "9-3"], "--episodes must be"],
    [["--drop-episodes", "40"], "--drop-episodes must be episode numbers in 0 … 39, got 40"],
    [["--where", "nothing > 1"], "--where must be a condition on one of return, length"],
    [["--split-into", "train=0.5"], "--split-into writes several datasets"],
    [["--seed", "1"], "--seed works only with --split-into"],
    [["--source-fps", "1"], "--source-fps works only with --resample-fps"],
    [["--resample-fps", "10"], "--resample-fps needs the times of the steps"],
    [["--swap-channels", "action"], "a path in --swap-channels must be an image"],
    [["--task", "a", "--task", "b"], "--task is set 2 times"],
    [["--task", "40=a"], "--task must be episode numbers in 0 … 39, got 40"],
    [["--fps", "10"], "--fps works only with LeRobot"],
    [["--without", "nothing"], "--without must name columns"],
  ])("%j", async (options, message) => {
    const { line } = await failure(2, "edit", CARTPOLE, fresh(".parquet"), ...options);
    expect(line).toContain(message);
  });

  test("an episode of --flags that is not there is told as that, and one of --drop-episodes as that", async () => {
    const flags = fresh(".json");
    writeFileSync(flags, '{"flagged": [3, 40]}');
    const { line } = await failure(2, "edit", CARTPOLE, fresh(".parquet"), "--flags", flags, "--drop-episodes", "1");
    expect(line).toContain("--flags must be episode numbers in 0 … 39, got 40");
    const { line: dropped } = await failure(2, "edit", CARTPOLE, fresh(".parquet"), "--flags", flags, "--drop-episodes", "50");
    expect(dropped).toContain("--drop-episodes must be episode numbers in 0 … 39, got 50");
  });

  test("--split-into into a folder: shares and names are checked", async () => {
    for (const [shares, message] of [
      ["train=0.5", "the sum of --split-into must be 1"],
      ["train", "--split-into requires NAME=SHARE"],
      ["../up=1", "--split-into requires NAME=SHARE"],
      ["a=0.5,a=0.5", "--split-into contains the part a twice"],
    ] as const)
      expect((await failure(2, "edit", CARTPOLE, fresh(), "--split-into", shares)).line).toContain(message);
  });

  test("the help begins with an example", async () => {
    const { stdout } = await reprise("edit", "--help");
    expect(stdout.trimStart()).toMatch(/^\$ npx reprise edit /);
    for (const flag of ["--episodes", "--where", "--concat", "--split-into", "--swap-channels", "--flags"]) expect(stdout).toContain(flag);
  });
});

test.runIf(whole)("Ctrl-C leaves IN, and nothing next to it", async () => {
  const path = copied(HALF_CHEETAH);
  const before = filesOf(path);
  const { child, ended } = started("edit", path, path, "--overwrite", "--concat", path, path, path, path, path);
  const aside = join(path, ".incomplete-1.0.0-edit");
  while (!existsSync(join(aside, "new"))) await new Promise((resolve) => setTimeout(resolve, 2));
  child.kill("SIGINT");
  const { status, stderr } = await ended;
  expect([status, stderr]).toEqual([130, expect.stringContaining("was not written")]);
  expect(filesOf(path)).toEqual(before);
  rmSync(path, { recursive: true });
});

test("a table with cells that are missing is edited and converted", async () => {
  const table = join(DATA, "csv/pandas.csv");
  const whole = await contentOf(table);
  for (const ending of some([".csv", ".parquet", ".jsonl", ".npz", ".hdf5"], 2)) {
    const out = fresh(ending);
    await document("edit", table, out, "--strict");
    const { episodes } = await contentOf(out);
    const distances = ({ steps }: (typeof episodes)[number]) => Array.from(steps, (step) => (step as unknown as { distance: number }).distance);
    expect(episodes.map((episode) => distances(episode).filter(Number.isNaN).length)).toEqual(whole.episodes.map((episode) => distances(episode).filter(Number.isNaN).length)); // biome-ignore format: a line
    expect(distances(episodes[0] as never)[0]).toBeNaN();
  }
  const filled = fresh(".csv");
  await document("edit", table, filled, "--null", "distance=-1");
  expect((await contentOf(filled)).episodes[0]?.steps.at(0)).toMatchObject({ distance: -1 });
});
