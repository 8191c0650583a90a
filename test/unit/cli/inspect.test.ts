/** Compares the output of `reprise inspect` and `reprise stats` with the results of the tools that wrote the datasets. */
import { cpSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CARTPOLE, DATA, document, failure, HALF_CHEETAH, PIXELS, reprise, temporary } from "./support.ts";

const expected = JSON.parse(readFileSync(join(DATA, "tfds", "expected.json"), "utf8"));
const temp = temporary();

test.each([
  ["half_cheetah", HALF_CHEETAH],
  ["cartpole", CARTPOLE],
  ["cartpole_pixels", PIXELS],
])("inspect --json of %s matches tensorflow_datasets", async (name, path) => {
  const { format, split, splits, episodes, steps, stepSpec, lengths, returns, report, statistics, ...rest } = await document("inspect", path);
  const of = expected[name];
  expect({ format, name: rest.name, split, splits, episodes, steps }).toEqual({
    format: "tfds",
    name,
    split: "train",
    splits: ["train"],
    episodes: of.episodes,
    steps: of.steps,
  });
  expect(stepSpec.is_last).toEqual({ dtype: "bool", shape: [] });
  expect([lengths.min, lengths.max]).toEqual([Math.min(...of.lengths), Math.max(...of.lengths)]);
  expect(lengths.mean).toBeCloseTo(of.steps / of.episodes, 9);
  expect(returns.mean).toBeCloseTo(of.mean_return, 3);
  for (const { bins } of [lengths, returns]) expect(bins.reduce((sum: number, bin: { count: number }) => sum + bin.count, 0)).toBe(of.episodes);
  for (const [i, { from, to, count }] of lengths.bins.entries())
    expect(of.lengths.filter((length: number) => length >= from && (length < to || i === lengths.bins.length - 1)).length).toBe(count);
  expect([report.mode, report.complete, report.faultyEpisodes, report.steps]).toEqual(["inspect", true, 0, of.steps]);
  expect(statistics).toBe(undefined);
});

test("inspect prints spec, histograms and findings, and reads a slice of a split", async () => {
  const { status, stdout, stderr } = await reprise("inspect", PIXELS, "--split", "train[:3]");
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("cartpole_pixels (tfds, split train[:3]): 3 episodes, 75 steps\n");
  expect(stdout).toContain("\n  observation/image     u8      [48, 48, 3]\n");
  expect(stdout).toContain("\nEach episode:\n  leaf        dtype   shape\n  episode_id  i64     []\n");
  expect(stdout).toContain("\nSteps per episode: 25 … 25, mean 25\n  25  3 ████████████████████████████████\n");
  expect(stdout).toContain("\nNo faults.\n");
});

test("inspect --stats and stats report the same statistics per leaf", async () => {
  const { statistics } = await document("inspect", HALF_CHEETAH, "--stats");
  expect(await document("stats", HALF_CHEETAH)).toEqual({ kind: "dataset", format: "tfds", name: "half_cheetah", statistics });
  const observation = statistics.find((leaf: { path: string }) => leaf.path === "observation");
  const { sum } = expected.half_cheetah.columns.observation;
  expect(observation.mean).toBeCloseTo(sum / (10_040 * 17), 6);
  expect(observation.elements.mean.length).toBe(17);
  const { stdout } = await reprise("stats", HALF_CHEETAH);
  expect(stdout).toMatch(/^half_cheetah \(tfds\)\n {2}leaf +dtype +shape +steps +min +max +mean +deviation +not finite\n/);
  expect(stdout).toMatch(/\n {2}action +f32 +\[6\] +10,000 +-1 +1 /);
});

test("a truncated file is reported in one line with its code and file name", async () => {
  cpSync(HALF_CHEETAH, temp("cut"), { recursive: true });
  const file = temp("cut", "1.0.0", "half_cheetah-train.tfrecord-00001-of-00003");
  truncateSync(file, 100_000);
  const { line, error } = await failure(1, "inspect", temp("cut"));
  expect(line).toMatch(/^reprise: CORRUPT: .*half_cheetah-train\.tfrecord-00001-of-00003/);
  expect(line.split("\n").length).toBe(1);
  expect(error).toMatchObject({ code: "CORRUPT", file: expect.stringContaining("00001-of-00003") });
  expect(error.offset).toBeGreaterThan(0);
  expect(await reprise("inspect", temp("cut"))).toEqual({ status: 1, stdout: "", stderr: `${line}\n` });
  const { stderr } = await reprise("inspect", temp("cut"), "--verbose");
  expect(stderr).toMatch(/^reprise: CORRUPT: .*\n.*\n\s+at /);
});

test("a missing path is NOT_FOUND, and an unknown split is wrong usage", async () => {
  expect((await failure(1, "inspect", temp("nowhere"))).error.code).toBe("NOT_FOUND");
  const { line, error } = await failure(2, "inspect", HALF_CHEETAH, "--split", "test");
  expect(line).toMatch(/split must be one of train, got "test"/);
  expect(error.code).toBe("USAGE");
});

test("--open passes options to the reader, and unknown options are wrong usage", async () => {
  const file = join(DATA, "extra", "d4rl", "no_timeouts.hdf5");
  const { losses } = await document("convert", file, temp("no_timeouts.jsonl"));
  expect(losses).toMatchObject([{ what: "timeouts", reason: expect.stringContaining("--open maxEpisodeSteps=STEPS") }]);
  expect((await failure(1, "convert", file, temp("strict.jsonl"), "--strict")).line).toMatch(/UNSUPPORTED: strict .*--open maxEpisodeSteps=STEPS/);
  expect((await reprise("inspect", file)).stdout).toMatch(/Not read: timeouts; --open maxEpisodeSteps=STEPS/);
  const { format, lengths } = await document("inspect", file, "--open", "maxEpisodeSteps=10");
  expect([format, lengths.max]).toEqual(["d4rl", 10]);
  expect((await failure(2, "inspect", file, "--open", "maxEpisodeSteps=0")).line).toMatch(/maxEpisodeSteps must be an integer >= 1|maxEpisodeSteps/);
  expect((await failure(2, "inspect", file, "--split", "train")).line).toMatch(/options has no option "split"\. Options: finalObservation/);
  expect((await failure(2, "inspect", file, "--open", "finalObservations=rlds")).line).toMatch(
    /"finalObservations"\. Did you mean "finalObservation"\? Options: finalObservation/,
  );
  expect((await failure(2, "inspect", file, "--open", "finalObservation")).line).toMatch(/--open requires OPTION=VALUE/);
  expect((await document("inspect", PIXELS, "--open", "images=bytes")).stepSpec.observation.image.dtype).toBe("bytes");
});

test("inspect reads a journal and a snapshot as datasets", async () => {
  const [journal, snapshot] = [await document("inspect", join(DATA, "golden/journal")), await document("inspect", join(DATA, "golden/snapshot.rpr"))];
  expect(journal).toMatchObject({ format: "journal", episodes: 7, steps: 36, metadataSpec: { episode_id: {}, beginning: {}, end: {}, final_step: {} } });
  expect({ ...snapshot, name: journal.name, format: journal.format }).toEqual(journal);
  expect((await reprise("inspect", join(DATA, "golden/journal"))).stdout).toMatch(/journal\): 7 episodes, 36 steps/);
});
