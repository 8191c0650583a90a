/** Tests the findings of a check, and that a repaired dataset has no faults. */
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { mp4Frames } from "../../../../src/datasets/model/mp4-frames.ts";
import {
  type CheckOptions,
  type CheckReport,
  checkRlds,
  importRlds,
  memorySink,
  openRlds,
  type RldsDataset,
  type RldsEpisode,
  RldsError,
  rldsDataset,
  type Source,
  type StepSpec,
  withFinalObservations,
  writeJsonl,
} from "../../../../src/datasets/rlds/index.ts";
import { root } from "../../../support/core.ts";
import { FORMS, goodEpisode, goodEpisodes, TEST_SPEC, type TestStep } from "../../../support/faulty-rlds.ts";
import { TestRandom } from "../../../support/random.ts";
import { FLAGS, leaf, made } from "../../../support/random-steps.ts";
import { scaled } from "../../../support/size.ts";

type Form = keyof typeof FORMS;
const EVERY_FORM = Object.keys(FORMS) as Form[];
const folder = mkdtempSync(join(tmpdir(), "reprise-check-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the number of findings of each kind that occurs. */
function found({ faults, warnings }: CheckReport): { readonly [kind: string]: number } {
  return Object.fromEntries(Object.entries({ ...faults, ...warnings }).flatMap(([kind, { count }]) => (count === 0 ? [] : [[kind, count]])));
}

/** Returns steps with a timestamp and two dimensions that change. */
function timed(times: readonly number[], more: (i: number) => object = () => ({})) {
  const last = times.length - 1;
  return times.map((timestamp, i) => ({
    observation: Float32Array.of(i + timestamp, -i),
    action: i + 0.5,
    reward: i,
    discount: 1,
    timestamp,
    ...{ is_first: i === 0, is_last: i === last, is_terminal: false },
    ...more(i),
  }));
}

const check = (episodes: readonly object[], options?: CheckOptions) => checkRlds(episodes as unknown as RldsDataset, options);
const even = [0, 0.1, 0.2, 0.3, 0.4, 0.5];

test("a valid dataset has no findings", async () => {
  const report = await check([{ steps: timed(even) }, { steps: timed(even.map((time) => time + 0.01)) }]);
  expect(found(report)).toEqual({});
  expect(report).toMatchObject({ episodes: 2, steps: 12, transitions: 10, complete: true, clean: true });
});

describe.each(EVERY_FORM)("steps as %s", (form) => {
  const datasetOf = (episodes: readonly (readonly TestStep[])[], spec?: StepSpec) =>
    rldsDataset(() => episodes.map((steps) => ({ steps: FORMS[form](steps) })), spec === undefined ? {} : { stepSpec: spec });

  test.each([true, false])("are checked for faults, constant dimensions and short episodes (with a spec: %s)", async (hasSpec) => {
    const broken = goodEpisode(6, 1).map((step, i) =>
      i === 3 ? { ...step, observation: { ...step.observation, state: Float32Array.of(1, Number.NaN, 0.5) } } : step,
    );
    const dangling = goodEpisode(5, 2).map((step) => ({ ...step, is_last: false, action: Float32Array.of(1, -1) }));
    const report = await checkRlds(datasetOf([goodEpisode(40, 0), broken, dangling, goodEpisode(1, 3)], hasSpec ? TEST_SPEC : undefined));
    // The last dimensions of the state and of the action are constant; actions of final observations are ignored.
    const constant = { constantDimensions: 2 };
    expect(found(report)).toEqual({ nonFinite: 1, danglingTails: 1, ...constant, shortEpisodes: 1 });
    expect(report.faults.nonFinite.places).toEqual([{ episode: 1, step: 3, path: "observation/state", value: Number.NaN, text: "observation/state is NaN" }]);
    expect(report.faults.danglingTails.places).toMatchObject([{ episode: 2, step: 4, text: "is_last is false at the last step" }]);
    expect(report.warnings.constantDimensions.places.map(({ text }) => text).sort()).toEqual([
      "dimension 1 (of 2) of action is always -1",
      "dimension 2 (of 3) of observation/state is always 0.5",
    ]);
    expect(report.warnings.shortEpisodes.places).toEqual([{ episode: 3, value: 0, text: "the episode has 0 transitions, fewer than 2" }]);
    expect(report.clean).toBe(false);
  });

  test("law: a repaired dataset has no faults", async () => {
    const random = new TestRandom(41);
    for (let round = 0; round < scaled(200, 20); round++) {
      const episodes = goodEpisodes(random, 1 + random.below(6)).map((steps) => spoiled(steps, random));
      const source = datasetOf(episodes, TEST_SPEC);
      const repaired = importRlds(source, { mode: "repair" });
      const report = await checkRlds(repaired);
      expect(Object.entries(report.faults).filter(([, { count }]) => count > 0)).toEqual([]);
      expect([report.clean, report.complete]).toEqual([true, true]);
      const { kept } = repaired.report;
      expect([report.episodes, report.steps, report.transitions]).toEqual([kept.episodes, kept.steps, kept.transitions]);
      if (kept.steps === 0) continue;
      const files = memorySink();
      await writeJsonl(importRlds(source, { mode: "repair" }), files);
      expect((await checkRlds(await openRlds(files as Source))).clean).toBe(true);
    }
  });
});

/** Returns steps with all kinds of faults that columns can represent and `repair` fixes. */
function spoiled(steps: readonly TestStep[], random: TestRandom): TestStep[] {
  return steps.map((step) => {
    if (random.next() < 0.8) return step;
    const changes: readonly (() => Partial<TestStep>)[] = [
      () => ({ is_first: !step.is_first }),
      () => ({ is_last: !step.is_last }),
      () => ({ is_terminal: !step.is_terminal }),
      () => ({ reward: Number.POSITIVE_INFINITY }),
      () => ({ action: Float32Array.of(Number.NaN, 1) }),
      () => ({ observation: { ...step.observation, state: Float32Array.of(0, Number.NEGATIVE_INFINITY, 0) } }),
    ];
    return { ...step, ...changes[random.below(changes.length)]?.() };
  });
}

test("checkRlds counts all findings of a kind, and lists the first ones", async () => {
  const steps = timed(
    Array.from({ length: 3000 }, (_, i) => i),
    () => ({ reward: Number.NaN }),
  );
  const report = await check([{ steps }]);
  expect(report.faults.nonFinite.count).toBe(3000);
  expect(report.faults.nonFinite.places.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  const listed = await check([{ steps }], { maxPlaces: 2 });
  expect([listed.faults.nonFinite.count, listed.faults.nonFinite.places.length]).toEqual([3000, 2]);
});

test("repeated or decreasing timestamps are faults, and uneven timestamps are warnings", async () => {
  const report = await check([{ steps: timed([0, 0.1, 0.1, 0.2, 0.05, 0.15, 0.25]) }, { steps: timed([5, 5.1, 5.2, 5.5, 5.6]) }]);
  expect(found(report)).toEqual({ timestampRepeats: 2, timestampJitter: 1 });
  expect(report.faults.timestampRepeats.places).toEqual([
    { episode: 0, step: 2, path: "timestamp", value: 0.1, text: "timestamp repeats" },
    { episode: 0, step: 4, path: "timestamp", value: 0.05, text: "timestamp goes back by 0.15" },
  ]);
  expect(report.warnings.timestampJitter.places).toEqual([{ episode: 1, step: 3, path: "timestamp", value: 5.5, text: "timestamp advances by 0.3, not 0.1" }]);
  // The measured rate differs from the specified one, so every interval is reported.
  expect(found(await check([{ steps: timed(even) }], { fps: 20 }))).toEqual({ timestampJitter: 5 });
  expect(found(await check([{ steps: timed([0, 0.1, 0.25, 0.3, 0.4]) }], { maxJitter: 0.6 }))).toEqual({});
});

test("a timestamp of NaN is a fault, but NaN in other metadata is not", async () => {
  const steps = timed(even, (i) => ({ distance: i === 1 ? Number.NaN : i, ...(i === 3 && { timestamp: Number.NaN }) }));
  for (const changed of [steps, steps.map((step) => ({ ...step, observation: Float32Array.of(step.action, -step.action) }))]) {
    const report = await check([{ steps: changed }]);
    const places = report.faults.nonFinite.places.filter(({ path }) => path === "timestamp");
    expect(places).toEqual([{ episode: 0, step: 3, path: "timestamp", value: Number.NaN, text: "timestamp is NaN" }]);
    expect(report.faults.nonFinite.places.map(({ path }) => path)).not.toContain("distance");
  }
});

test("a repeated final observation can repeat its timestamp", async () => {
  const spec = {
    observation: { state: leaf("f32", [2]), said: leaf("string", [2]) },
    action: leaf("f32"),
    reward: leaf("f32"),
    discount: leaf("f32"),
    timestamp: leaf("f64"),
    ...FLAGS,
  };
  const data = made(spec as unknown as StepSpec, [4, 3], { metadataSpec: { final_step: leaf("string") }, metadata: () => ({ final_step: "transition" }) });
  for (const { steps } of data) for (const [i, step] of (steps as { timestamp: number }[]).entries()) step.timestamp = i / 10;
  const [files, columns] = [memorySink(), [] as object[]];
  await writeJsonl(data as unknown as RldsDataset<unknown>, files);
  for await (const episode of await openRlds(files as Source)) columns.push(episode);
  const checked = (episodes: readonly object[]) => check(Object.assign([...episodes], { stepSpec: spec }));
  for (const source of [data, columns]) {
    const repeated = [...(withFinalObservations(source as never) as Iterable<RldsEpisode<{ [name: string]: unknown }>>)];
    const oneByOne = repeated.map((episode) => ({
      ...episode,
      steps: (function* () {
        yield* episode.steps as Iterable<{ [name: string]: unknown }>;
      })(),
    }));
    expect(found(await checked(repeated))).toEqual({});
    expect(found(await checked(oneByOne))).toEqual({});
    // A different observation at the same time is a fault, and so is a repeated one if the last step is not a final observation.
    const other = repeated.map(({ steps, ...episode }) => {
      const rows = [...(steps as Iterable<{ [name: string]: unknown }>)];
      rows[rows.length - 1] = { ...rows.at(-1), observation: { state: Float32Array.of(9, 9), said: ["a", "b"] } };
      return { ...episode, steps: rows };
    });
    expect(found(await checked(other))).toEqual({ timestampRepeats: 2 });
    expect(found(await checked(repeated.map((episode) => ({ ...episode, final_step: "transition" }))))).toEqual({ timestampRepeats: 2 });
  }
});

test("timestamps in nanoseconds since 1970 keep their precision", async () => {
  const start = 1_700_000_000_000_000_000n;
  const at = (times: readonly bigint[]) => [{ steps: timed(even, (i) => ({ timestamp: times[i] })) }];
  expect(found(await check(at([0n, 100n, 200n, 300n, 400n, 500n].map((time) => start + time))))).toEqual({});
  expect(found(await check(at([0n, 1n, 2n, 2n, 3n, 4n].map((time) => start + time))))).toEqual({ timestampRepeats: 1 });
});

test("`timestamp` selects another leaf", async () => {
  const steps = timed(even, (i) => ({ clock: i === 3 ? 2 : i }));
  expect(found(await check([{ steps }], { timestamp: "clock" }))).toEqual({ timestampRepeats: 1, timestampJitter: 1 });
  await expect(check([{ steps }], { timestamp: "observation" })).rejects.toThrow(
    /timestamp must .*\(action, clock, discount, is_first, is_last, is_terminal, reward, timestamp\), got "observation"/,
  );
});

test("checkRlds warns about constant rewards, and about final observations of zeros", async () => {
  const steps = timed(even, (i) => ({ reward: i === 5 ? 7 : 0 }));
  // The reward of a final observation is ignored.
  expect(found(await check([{ steps }]))).toEqual({ constantRewards: 1 });
  expect(found(await check([{ steps, final_step: "transition" }]))).toEqual({});
  const zeros = timed(even, (i) => (i === 5 ? { observation: new Float32Array(2), action: 0, reward: 0 } : {}));
  expect(found(await check([{ steps: zeros }]))).toEqual({ zeroFinalObservations: 1 });
});

test("images are checked as a whole for constant values", async () => {
  const image = (i: number) => ({ observation: { data: Uint8Array.of(0, 0, 0, i % 2), shape: [2, 2, 1] } });
  expect(found(await check([{ steps: timed(even, image) }]))).toEqual({});
  const report = await check([{ steps: timed(even, () => image(1)) }]);
  expect(report.warnings.constantDimensions).toMatchObject({ count: 4, places: [{ path: "observation", text: "observation never changes" }] });
});

test("checkRlds warns about episodes that are short compared to the median", async () => {
  const long = Array.from({ length: 101 }, (_, i) => i);
  const episodes = [{ steps: timed(long) }, { steps: timed(long) }, { steps: timed(long.slice(0, 5)) }];
  const report = await check(episodes);
  expect(report.warnings.shortEpisodes.places).toEqual([{ episode: 2, value: 4, text: "the episode has 4 transitions, but the median is 100" }]);
  expect(found(await check(episodes, { minShare: 0.01 }))).toEqual({});
  expect(found(await check(episodes, { minShare: 0, minSteps: 101 }))).toEqual({ shortEpisodes: 3 });
});

test("unreadable data are a fault, and the steps before are checked", async () => {
  const broken = rldsDataset(function* () {
    yield { steps: timed([0, 1, 1, 2]) };
    throw new RldsError("CORRUPT", "the record is cut", { file: "a.tfrecord", offset: 9, episode: 1 });
  });
  const report = await checkRlds(broken);
  expect(found(report)).toMatchObject({ timestampRepeats: 1, unreadable: 1 });
  expect(report.faults.unreadable.places).toEqual([{ file: "a.tfrecord", offset: 9, episode: 1, text: "the record is cut (a.tfrecord, byte 9; episode 1)" }]);
  expect([report.complete, report.clean]).toEqual([false, false]);
  const lost = rldsDataset(() => {
    throw new RldsError("IO", "the connection is lost");
  });
  await expect(checkRlds(lost)).rejects.toMatchObject({ code: "IO" });
});

test("losses of a salvaging reader are faults", async () => {
  const data = await openRlds(join(root, "test/data/wild/lerobot_crash_info"), { salvage: true });
  const report = await checkRlds(data);
  expect(report.faults.unreadable).toMatchObject({ count: 1, places: [{ file: "meta/info.json" }] });
  expect(report.complete).toBe(true);
});

describe("films", () => {
  const original = join(root, "test/data/wild/lerobot_video");
  const film = "videos/observation.images.top/chunk-000/file-000.mp4";
  const copyOf = (name: string) => {
    const to = join(folder, name);
    cpSync(original, to, { recursive: true });
    return to;
  };
  const checkAt = async (path: string) => checkRlds(await openRlds(path));

  test("with all required frames cause no findings", async () => {
    const report = await checkAt(original);
    expect([found(report).shortFilms, found(report).missingFilms, found(report).longFilms]).toEqual([undefined, undefined, undefined]);
  });

  /** Changes the number of frames in the film's header. */
  function withFrames(path: string, change: (frames: number) => number): number {
    const bytes = readFileSync(join(path, film));
    const at = bytes.indexOf("stsz") + 4 + 8;
    const frames = bytes.readUInt32BE(at);
    bytes.writeUInt32BE(change(frames), at);
    writeFileSync(join(path, film), bytes);
    return frames;
  }

  test("that are damaged return a number of frames or reject", async () => {
    const random = new TestRandom(8);
    const bytes = readFileSync(join(original, film));
    const framesOf = (damaged: Uint8Array) =>
      mp4Frames({ size: damaged.length, read: async (at, length) => damaged.slice(at, at + length) }).catch((error: Error) => error);
    expect(await framesOf(bytes)).toBe(bytes.readUInt32BE(bytes.indexOf("stsz") + 12));
    let refused = 0;
    for (let round = 0; round < scaled(3000, 300); round++) {
      const damaged = new Uint8Array(bytes.subarray(0, random.next() < 0.3 ? random.below(bytes.length) : bytes.length));
      for (let k = random.below(6); k >= 0; k--) damaged[random.below(damaged.length)] = random.pick([0, 1, 8, 255, random.below(256)]);
      const found = await framesOf(damaged);
      if (typeof found === "number") expect(Number.isSafeInteger(found) && found >= 0).toBe(true);
      else refused++;
    }
    expect(refused).toBeGreaterThan(0);
  });

  test("that are too short, too long, missing or truncated are reported", async () => {
    const short = copyOf("short");
    const frames = withFrames(short, (count) => count - 1);
    const report = await checkAt(short);
    expect(report.faults.shortFilms).toMatchObject({
      count: 1,
      places: [{ path: "observation/images/top", file: film, value: frames - 1, text: `${film} has ${frames - 1} frames, but the steps need ${frames}` }],
    });
    const long = copyOf("long");
    withFrames(long, (count) => count + 2);
    const { faults, warnings } = await checkAt(long);
    expect([faults.shortFilms.count, warnings.longFilms.count]).toEqual([0, 1]);
    const missing = copyOf("missing");
    rmSync(join(missing, film));
    expect((await checkAt(missing)).faults.missingFilms).toMatchObject({ count: 1, places: [{ file: film }] });
    const cut = copyOf("cut");
    truncateSync(join(cut, film), 100);
    expect((await checkAt(cut)).faults.missingFilms.places[0]?.text).toContain("does not fit in the file");
  });
});

test("checkRlds rejects invalid arguments", async () => {
  await expect(check([], { maxJitter: -1 })).rejects.toThrow(RangeError);
  await expect(check([], { minShare: 2 })).rejects.toThrow(RangeError);
  await expect(check([], { maxPlaces: 0 })).rejects.toThrow(RangeError);
  await expect(check([], { fps: 0 })).rejects.toThrow(/fps must .*got 0/);
  await expect(check([], { place: 3 } as never)).rejects.toThrow("place");
  await expect(checkRlds(3 as never)).rejects.toThrow(TypeError);
});
