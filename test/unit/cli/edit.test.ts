/** Tests `reprise edit`: edits in all formats, its options, and wrong usage. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { EpisodeTable } from "../../../page/look/model/episode-table.ts";
import { flagsFile } from "../../../page/look/model/flags-file.ts";
import { FILES } from "../../../src/cli/convert.ts";
import { mapEpisodes, openRlds, type RldsDataset } from "../../../src/datasets/rlds/index.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, slow, some, whole } from "../../support/size.ts";
import { contentOf, editFiles, FILMED, idsOf, LENGTHS, randomEpisodes, STATED, stepsOf, withoutIndex } from "./edit-data.ts";
import type { Written } from "./formats.ts";
import { CARTPOLE, DATA, document, failure, PIXELS, reprise } from "./support.ts";

const { fresh, WRITTEN } = editFiles();
const FORMATS = Object.keys(WRITTEN);

/** Returns the episodes with faults that `repair` fixes: wrong flags and non-finite numbers. */
function spoiled(lengths: readonly number[], chance: TestRandom): RldsDataset<unknown> {
  const whole = randomEpisodes(lengths);
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

describe.each(some(FORMATS, 1))("%s", (format) => {
  const { write, target } = WRITTEN[format] as Written;

  test("an edit without options preserves all values", async () => {
    const path = await write(randomEpisodes(LENGTHS));
    const before = await contentOf(path);
    const { out, path: written, flags } = target();
    const { episodes, steps } = await document("edit", path, out, ...flags);
    expect([episodes, steps]).toEqual([4, before.episodes.reduce((sum, episode) => sum + episode.steps.length, 0)]);
    expect(await contentOf(written)).toEqual(before);
  });

  test("an edit in place preserves values, and files that do not belong to the dataset", async () => {
    const path = await write(randomEpisodes(LENGTHS));
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

  test("the parts of a concatenation equal the datasets", async () => {
    const [a, b] = [await write(randomEpisodes(LENGTHS)), await write(randomEpisodes([3, 6]))];
    const [joined, first, second] = [target(), target(), target()];
    await document("edit", a, joined.out, "--concat", b, ...joined.flags);
    await document("edit", joined.path, first.out, "--episodes", "0-3", ...first.flags);
    await document("edit", joined.path, second.out, "--episodes", "4-", ...second.flags);
    expect(await stepsOf(first.path)).toEqual(await stepsOf(a));
    expect(await stepsOf(second.path)).toEqual(await stepsOf(b));
  });

  test("renaming and casting there and back preserve all values", async () => {
    const path = await write(randomEpisodes(LENGTHS));
    const before = await contentOf(path);
    const [there, back] = [target(), target()];
    await document("edit", path, there.out, ...there.flags, "--rename", "observation.state=observation.joints", "--cast", "action=f32");
    expect((await contentOf(there.path)).stepSpec).toMatchObject({ action: { dtype: "f32" }, observation: { joints: { dtype: "f32" } } });
    await document("edit", there.path, back.out, ...back.flags, "--rename", "observation.joints=observation.state", "--cast", "action=f64");
    expect(await contentOf(back.path)).toEqual(before);
  });

  test("swapping channels twice preserves all values", async () => {
    const path = await write(randomEpisodes(LENGTHS));
    const before = await contentOf(path);
    const [there, back] = [target(), target()];
    await document("edit", path, there.out, "--swap-channels", "observation/image", ...there.flags);
    expect((await contentOf(there.path)).episodes).not.toEqual(before.episodes);
    await document("edit", there.path, back.out, "--swap-channels", "observation.image", ...back.flags);
    expect(await contentOf(back.path)).toEqual(before);
  });

  test("a check of a repaired dataset is clean", async () => {
    const random = new TestRandom(format.length);
    const path = await (WRITTEN.jsonl as Written).write(spoiled(LENGTHS, random));
    expect(JSON.parse((await reprise("check", path, "--json")).stdout)).toMatchObject({ clean: false });
    const { out, path: written, flags } = target();
    await document("edit", path, out, ...flags, ...(STATED[format] ?? []), "--mode", "repair");
    expect(await document("check", written, "--ignore", "warnings")).toMatchObject({ clean: true, complete: true, faults: {} });
  });

  test("random edits have the same result as the same selection of episodes in memory", async () => {
    const path = await write(randomEpisodes(LENGTHS));
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
    await document("convert", await (WRITTEN.parquet as Written).write(randomEpisodes(LENGTHS)), path, "--without", "observation/image");
    return path;
  }

  test("is unchanged by an edit without options, also in place", async () => {
    const path = await written();
    const [before, out] = [await contentOf(path), fresh(ending)];
    await document("edit", path, out);
    expect(await contentOf(out)).toEqual(before);
    await document("edit", path, path, "--overwrite");
    expect(await contentOf(path)).toEqual(before);
    await document("edit", path, path, "--overwrite", "--drop-episodes", "1");
    expect((await contentOf(path)).episodes.map(({ steps }) => steps.length)).toEqual([0, 2, 3].map((k) => before.episodes[k]?.steps.length));
  });

  test("is written once per part with --split-into", async () => {
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
  const source = () => (WRITTEN.parquet as Written).write(randomEpisodes(new Array(20).fill(2)));

  test("a folder OUT gets the format of a folder IN, and its version of LeRobot", async () => {
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

  test("--flags, episode numbers and --where are combined", async () => {
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

  test("parts are separate datasets, or splits of TFDS", async () => {
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

  test("--task sets the task of all or some episodes", async () => {
    const [path, out] = [await source(), fresh(".jsonl")];
    await document("edit", path, out, "--task", "Place = there", "--task", "1-2=Pick", "--task", "2=Pick again", "--episodes", "1-3");
    expect((await contentOf(out)).episodes.map(({ task }) => task)).toEqual(["Pick", "Pick again", "Place = there"]);
    const lerobot = fresh();
    await document("edit", FILMED, lerobot, "--format", "lerobot", "--task", "Push");
    expect((await contentOf(lerobot)).episodes.map(({ steps }) => (steps[0] as { task: string }).task)).toEqual(["Push", "Push", "Push"]);
  });

  test.runIf(whole)("--resample-fps sets the rate of LeRobot, and preserves returns", async () => {
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

  test("faults are handled as by convert, and errors name the episodes of IN", async () => {
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

  test("an error about different specs names the files", async () => {
    const [path, cast] = [await source(), fresh(".parquet")];
    await document("edit", path, cast, "--cast", "action=f32");
    const { error } = await failure(1, "edit", path, fresh(".parquet"), "--concat", cast);
    expect(error.code).toBe("SPEC_MISMATCH");
    expect(error.message).toContain(`the steps of ${cast} must match those of ${path}, but action is f32 [2], not f64 [2]`);
    const { episodes } = await document("edit", path, fresh(".parquet"), "--concat", cast, cast, "--cast", "action=f32");
    expect(episodes).toBe(60);
  });
});

describe("wrong usage", () => {
  test.each([
    [["--cast", "action"], "--cast requires LEAF=DTYPE"],
    [["--cast", "nothing=f32"], "a path in --cast must"],
    [["--episodes", "9-3"], "--episodes must be"],
    [["--drop-episodes", "40"], /--drop-episodes must .*0 … 39, got 40/],
    [["--where", "nothing > 1"], /--where must .*return, length/],
    [["--split-into", "train=0.5"], "--split-into writes several datasets"],
    [["--seed", "1"], "--seed requires --split-into"],
    [["--source-fps", "1"], "--source-fps requires --resample-fps"],
    [["--resample-fps", "10"], "--resample-fps needs the times of the steps"],
    [["--swap-channels", "action"], "a path in --swap-channels must"],
    [["--task", "a", "--task", "b"], "--task is set 2 times"],
    [["--task", "40=a"], /--task must .*0 … 39, got 40/],
    [["--fps", "10"], "--fps works only with LeRobot"],
    [["--without", "nothing"], "--without must name columns"],
  ])("%j", async (options, message) => {
    const { line } = await failure(2, "edit", CARTPOLE, fresh(".parquet"), ...options);
    expect(line).toMatch(message);
  });

  test("an error about a missing episode names --flags or --drop-episodes", async () => {
    const flags = fresh(".json");
    writeFileSync(flags, '{"flagged": [3, 40]}');
    const { line } = await failure(2, "edit", CARTPOLE, fresh(".parquet"), "--flags", flags, "--drop-episodes", "1");
    expect(line).toMatch(/--flags must .*0 … 39, got 40/);
    const { line: dropped } = await failure(2, "edit", CARTPOLE, fresh(".parquet"), "--flags", flags, "--drop-episodes", "50");
    expect(dropped).toMatch(/--drop-episodes must .*0 … 39, got 50/);
  });

  test("--split-into checks shares and names", async () => {
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

test("a table with missing cells is edited and converted", async () => {
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
