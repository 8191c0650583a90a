/** Tests the target of `reprise edit`: edits in place, other files, and edits that fail or are killed. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openRlds, type RldsDataset, type StepSpec, writeMinari, writeTfds } from "../../../src/datasets/rlds/index.ts";
import { leaf, made } from "../../support/random-steps.ts";
import { some, whole } from "../../support/size.ts";
import { contentOf, editFiles, filesOf, idsOf, LENGTHS, randomEpisodes, SPEC } from "./edit-data.ts";
import type { Written } from "./formats.ts";
import { DATA, document, failure, HALF_CHEETAH, started } from "./support.ts";

const { fresh, copied, WRITTEN } = editFiles();

describe("the target", () => {
  test("is unchanged if the edit fails, and nothing is left next to it", async () => {
    const path = await (WRITTEN.lerobot as Written).write(randomEpisodes(LENGTHS));
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

  test("is replaced only with --overwrite, and the error names it", async () => {
    const [path, out] = [await (WRITTEN.jsonl as Written).write(randomEpisodes(LENGTHS)), fresh()];
    await document("edit", path, out, "--format", "lerobot", "--fps", "10");
    const { error } = await failure(1, "edit", path, out, "--format", "lerobot", "--fps", "10");
    expect(error.code).toBe("IO");
    expect(error.message).toContain("--overwrite");
    expect([error.file, error.message].join()).not.toContain(".incomplete");
    expect(error.file.startsWith(out)).toBe(true);
    const { line } = await failure(2, "edit", path, path);
    expect(line).toContain("--overwrite");
  });

  test("an edit of one split of TFDS in place keeps the other splits", async () => {
    const folder = fresh();
    for (const split of ["train", "val"]) await writeTfds(randomEpisodes(LENGTHS, split === "train" ? 0 : 10), folder, { name: "demo", split });
    await document("edit", join(folder, "demo"), join(folder, "demo"), "--overwrite", "--from-split", "val", "--drop-episodes", "1");
    expect(await idsOf(join(folder, "demo"), { split: "train" })).toEqual([0, 1, 2, 3]);
    expect(await idsOf(join(folder, "demo"), { split: "val" })).toEqual([10, 12, 13]);
    const { line } = await failure(2, "edit", join(folder, "demo"), join(folder, "demo"), "--overwrite", "--from-split", "train[:2]");
    expect(line).toContain("train[:2] is not a single split");
  });

  test("a dataset in a subfolder is not edited in place of the folder", async () => {
    const [tfds, minari] = [fresh(), fresh()];
    await writeTfds(randomEpisodes(LENGTHS), tfds, { name: "demo" });
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

  test.each([".json", ".tsv"])("a %s file can be read, but not edited in place", async (ending) => {
    const path = fresh(ending);
    const [header, ...rows] = ["observation,action,reward,done", "1,0,1,false", "2,1,1,true"];
    writeFileSync(path, ending === ".json" ? '{"observation": 1, "action": 0, "reward": 1}' : [header, ...rows].join("\n").replaceAll(",", "\t"));
    const { line } = await failure(2, "edit", path, path, "--overwrite");
    expect(line).toContain(`edit can read ${path}, but cannot write it`);
  });

  test("splits of robomimic keep their episodes, and an edit of one split in place fails", async () => {
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
    "splits of robomimic are reported as lost in %s, or rejected with --strict",
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

  test("unread columns are not deleted in place without an option", async () => {
    const [folder, spec] = [fresh(), { ...SPEC, mark: leaf("f32") } as unknown as StepSpec];
    await writeMinari(made(spec, [3, 4]) as unknown as RldsDataset<unknown>, folder, { id: "a-v0" });
    const path = join(folder, "a-v0");
    const before = [filesOf(path), await contentOf(path, { infos: true })] as const;
    const { line } = await failure(2, "edit", path, path, "--overwrite", "--drop-episodes", "0");
    expect(line).toContain(`infos of ${path} would be deleted`);
    expect(line).toMatch(/--open infos=true .*--open infos=false /);
    expect(filesOf(path)).toEqual(before[0]);
    await document("edit", path, path, "--overwrite", "--drop-episodes", "0", "--open", "infos=true");
    expect((await contentOf(path, { infos: true })).episodes.map(({ steps }) => steps)).toEqual(before[1].episodes.slice(1).map(({ steps }) => steps));
    await document("edit", path, path, "--overwrite", "--open", "infos=false");
    expect(Object.keys((await contentOf(path, { infos: true })).stepSpec)).not.toContain("infos");
  });

  test("an error about an unread column names the option that reads it", async () => {
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

  test("the next edit restores the dataset that a killed process had moved", async () => {
    const path = await (WRITTEN.lerobot as Written).write(randomEpisodes(LENGTHS));
    const before = await contentOf(path);
    const aside = join(dirname(path), `.incomplete-${basename(path)}-edit`);
    mkdirSync(join(aside, "new"), { recursive: true });
    renameSync(path, join(aside, "old"));
    await document("edit", path, path, "--overwrite");
    expect(await contentOf(path)).toEqual(before);
    expect(existsSync(aside)).toBe(false);
  });

  test("a second edit of the same target fails without waiting", async () => {
    const path = await (WRITTEN.lerobot as Written).write(randomEpisodes(LENGTHS));
    const { Replacement } = await import("../../../src/cli/edit/replacement.ts");
    const first = await Replacement.begin(path, []);
    const { error } = await failure(1, "edit", path, path, "--overwrite");
    expect(error.code).toBe("IO");
    await first.discard();
    await document("edit", path, path, "--overwrite");
  });

  test("a link to a dataset remains a link", async () => {
    const { symlinkSync, lstatSync } = await import("node:fs");
    const [path, link] = [await (WRITTEN.lerobot as Written).write(randomEpisodes(LENGTHS)), fresh()];
    symlinkSync(path, link);
    await document("edit", link, link, "--overwrite", "--episodes", "1");
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect((await contentOf(path)).episodes.length).toBe(1);
  });

  test("a pipe at OUT is rejected and remains", async () => {
    const { execFileSync } = await import("node:child_process");
    const [path, pipe] = [await (WRITTEN.lerobot as Written).write(randomEpisodes(LENGTHS)), `${fresh()}.jsonl`];
    mkdirSync(dirname(pipe), { recursive: true });
    execFileSync("mkfifo", [pipe]);
    const { error } = await failure(1, "edit", path, pipe, "--overwrite");
    expect(error).toMatchObject({ code: "IO", message: expect.stringContaining("is a pipe or a device") });
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  test.runIf(whole)("an edit in place keeps the HDF5 of Minari and version 2.1 of LeRobot", async () => {
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

test.runIf(whole)("Ctrl-C leaves IN unchanged, and nothing next to it", async () => {
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
