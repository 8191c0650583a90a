/** Tests reports about datasets, and how strict, repair and drop treat faults. */
import { expect, test } from "vitest";
import { collect } from "../../../../src/datasets/model/maybe-async.ts";
import {
  convertRldsToTrajectories,
  type ImportMode,
  importRlds,
  inspectRlds,
  type RldsDataset,
  RldsError,
  rldsDataset,
  StepColumns,
} from "../../../../src/datasets/rlds/index.ts";
import { columnsOfSteps, FORMS, goodEpisode, goodEpisodes, TEST_SPEC, type TestStep } from "../../../support/faulty-rlds.ts";
import { TestRandom } from "../../../support/random.ts";
import { errorOf, expectError } from "../../../support/refused.ts";
import { scaled, whole } from "../../../support/size.ts";

type Form = keyof typeof FORMS;
const EVERY_FORM = Object.keys(FORMS) as Form[];

/** Returns a dataset that recreates its steps for each pass. */
function datasetOf(episodes: readonly (readonly TestStep[])[], form: Form = "array", hasSpec = true): RldsDataset<TestStep> {
  return rldsDataset(() => episodes.map((steps, id) => ({ id, steps: FORMS[form](steps) })), hasSpec ? { stepSpec: TEST_SPEC } : {});
}

async function episodesOf(rlds: RldsDataset<TestStep>): Promise<{ id: unknown; steps: readonly TestStep[] }[]> {
  const found = [];
  for await (const { id, steps } of rlds) found.push({ id, steps: [...(await collect(steps))] });
  return found;
}

async function rejection(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("the pass was not refused"),
    (error: Error) => error,
  );
}

/** Returns a copy of the steps with the given changes by index. */
function changed(steps: readonly TestStep[], changes: { readonly [index: number]: Partial<TestStep> }): TestStep[] {
  return steps.map((step, i) => ({ ...step, ...changes[i] }));
}

test.each(EVERY_FORM)("a valid dataset passes unchanged in every mode (steps as %s)", async (form) => {
  const episodes = [goodEpisode(5, 0), goodEpisode(3, 1, true), goodEpisode(1, 2)];
  for (const mode of ["strict", "repair", "drop"] satisfies ImportMode[]) {
    for (const hasSpec of [true, false]) {
      const imported = importRlds(datasetOf(episodes, form, hasSpec), { mode });
      expect(imported.report.complete).toBe(false);
      expect(await episodesOf(imported)).toEqual(episodes.map((steps, id) => ({ id, steps })));
      const { report } = imported;
      expect(report).toMatchObject({ mode, complete: true, episodes: 3, steps: 9, transitions: 6, faultyEpisodes: 0, zeroFinalSteps: 3 });
      expect(report.lengths).toMatchObject({ min: 1, max: 5, mean: 3, total: 9 });
      // The returns are 0 + 1/8 + 2/8 + 3/8 and 1 + (1 + 1/8); the last episode has no reward.
      expect(report.returns).toMatchObject({ min: 0, max: 2.125, total: 2.875 });
      expect(report.returns.mean).toBeCloseTo(2.875 / 3, 12);
      expect(report.zeroFinalObservations.count).toBe(0);
      expect(report.kept).toMatchObject({ episodes: 3, steps: 9, transitions: 6, returns: { total: 2.875 } });
      expect(report.dropped).toEqual({ episodes: { count: 0, places: [] }, steps: 0 });
      for (const found of [...Object.values(report.faults), ...Object.values(report.repaired)]) expect(found.count).toBe(0);
    }
  }
});

test("valid episodes with repeatable steps pass as the same objects", async () => {
  const episodes = [
    { id: 1, steps: goodEpisode(3, 0) },
    { id: 2, steps: columnsOfSteps(goodEpisode(4, 1)) },
  ];
  const seen = [];
  for await (const episode of importRlds<TestStep>(episodes)) seen.push(episode);
  expect(seen[0]).toBe(episodes[0]);
  expect(seen[1]).toBe(episodes[1]);
});

const NAN = Number.NaN;
const state = (...values: number[]) => ({ observation: { state: new Float32Array(values), goal: 0 } });

/** A case per fault: the episode, the error of `strict`, the counts in the report, and the pieces after `repair` as [from, to, changes by step]. */
const CASES: readonly {
  name: string;
  steps: readonly TestStep[];
  says: RegExp;
  fault: string;
  count?: number;
  step?: number;
  code?: "SPEC_MISMATCH";
  columns?: false;
  repaired: { readonly [repair: string]: number };
  pieces: readonly (readonly [number, number, { readonly [step: number]: Partial<TestStep> }])[];
}[] = [
  {
    name: "a dangling tail",
    steps: changed(goodEpisode(4, 1), { 3: { is_last: false, reward: 5 } }),
    says: /^is_last must .*got false\. .*"repair" .*"drop"/,
    fault: "danglingTails",
    step: 3,
    repaired: { lastsSet: 1 },
    pieces: [[0, 4, { 3: { is_last: true } }]],
  },
  {
    name: "a dangling tail of one step",
    steps: changed(goodEpisode(1, 1), { 0: { is_last: false } }),
    says: /^is_last must/,
    fault: "danglingTails",
    step: 0,
    repaired: { lastsSet: 1 },
    pieces: [[0, 1, { 0: { is_last: true } }]],
  },
  {
    name: "a beginning in mid-episode",
    steps: goodEpisode(5, 1).slice(2),
    says: /^is_first must .*got false/,
    fault: "missingFirsts",
    step: 0,
    repaired: { firstsSet: 1 },
    pieces: [[0, 3, { 0: { is_first: true } }]],
  },
  {
    name: "two episodes run into one, both flags right",
    steps: [...goodEpisode(3, 1, true), ...goodEpisode(2, 2)],
    says: /^is_first must .*got true/,
    fault: "firstsInMidEpisode",
    step: 3,
    repaired: { splits: 1 },
    pieces: [
      [0, 3, {}],
      [3, 5, {}],
    ],
  },
  {
    name: "an is_last in mid-episode, with no is_first behind it",
    steps: changed(goodEpisode(5, 1), { 2: { is_last: true } }),
    says: /^is_last must .*got true/,
    fault: "lastsInMidEpisode",
    step: 2,
    repaired: { splits: 1, firstsSet: 1 },
    pieces: [
      [0, 3, { 2: { is_last: true } }],
      [3, 5, { 3: { is_first: true } }],
    ],
  },
  {
    name: "an is_first in mid-episode, with no is_last before it",
    steps: changed(goodEpisode(5, 1), { 2: { is_first: true } }),
    says: /^is_first must be false after/,
    fault: "firstsInMidEpisode",
    step: 2,
    repaired: { splits: 1, lastsSet: 1 },
    pieces: [
      [0, 2, { 1: { is_last: true } }],
      [2, 5, { 2: { is_first: true } }],
    ],
  },
  {
    name: "is_terminal without is_last in mid-episode",
    steps: changed(goodEpisode(5, 1), { 1: { is_terminal: true } }),
    says: /^is_last must be true if is_terminal is true, got false/,
    fault: "terminalsWithoutLast",
    step: 1,
    repaired: { splits: 1, lastsSet: 1, firstsSet: 1 },
    pieces: [
      [0, 2, { 1: { is_terminal: true, is_last: true } }],
      [2, 5, { 2: { is_first: true } }],
    ],
  },
  {
    name: "an observation that is not finite",
    steps: changed(goodEpisode(5, 1), { 3: state(1, NAN, Infinity) }),
    says: /^observation\/state must be finite, got NaN\. .*"repair" .*end the episode/,
    fault: "nonFinite",
    count: 2,
    step: 3,
    repaired: { cuts: 1, lastsSet: 1 },
    pieces: [[0, 3, { 2: { is_last: true } }]],
  },
  {
    name: "a first observation that is not finite",
    steps: changed(goodEpisode(5, 1), { 0: state(-Infinity, 0, 0) }),
    says: /^observation\/state must be finite, got -Infinity/,
    fault: "nonFinite",
    step: 0,
    repaired: { cuts: 1 },
    pieces: [],
  },
  {
    name: "a reward that is not finite",
    steps: changed(goodEpisode(5, 1, true), { 2: { reward: NAN } }),
    says: /^reward must be finite, got NaN/,
    fault: "nonFinite",
    step: 2,
    repaired: { cuts: 1, lastsSet: 1, zeroed: 1 },
    pieces: [[0, 3, { 2: { reward: 0, is_last: true } }]],
  },
  {
    name: "a last step whose action and discount are not finite",
    steps: changed(goodEpisode(3, 1, true), { 2: { action: new Float32Array([NAN, 0]), discount: Infinity } }),
    says: /^action must be finite, got NaN/,
    fault: "nonFinite",
    count: 2,
    step: 2,
    repaired: { zeroed: 2 },
    pieces: [[0, 3, { 2: { action: new Float32Array(2), discount: 0 } }]],
  },
  {
    name: "what follows a cut begins again with the next episode in it",
    steps: changed([...goodEpisode(4, 1), ...goodEpisode(3, 2, true)], { 1: state(NAN, 0, 0) }),
    says: /^observation\/state/,
    fault: "nonFinite",
    step: 1,
    repaired: { cuts: 1, lastsSet: 1, splits: 1 },
    pieces: [
      [0, 1, { 0: { is_last: true } }],
      [4, 7, {}],
    ],
  },
  {
    name: "a step of another form",
    steps: changed(goodEpisode(5, 1), { 2: state(1, 2) }),
    says: /^observation\/state must be f32 of shape \[3\], got Float32Array\(2\)\. .*"repair" .*end the episode/,
    fault: "wrongForms",
    code: "SPEC_MISMATCH",
    step: 2,
    columns: false,
    repaired: { cuts: 1, lastsSet: 1 },
    pieces: [[0, 2, { 1: { is_last: true } }]],
  },
  {
    name: "a step without a flag",
    steps: changed(goodEpisode(4, 1), { 1: { is_last: undefined } as unknown as TestStep }),
    says: /^step must be an object with observation, .* is_terminal, got an object/,
    fault: "wrongForms",
    code: "SPEC_MISMATCH",
    step: 1,
    columns: false,
    repaired: { cuts: 1, lastsSet: 1 },
    pieces: [[0, 1, { 0: { is_last: true } }]],
  },
  {
    name: "an empty episode",
    steps: [],
    says: /^the number of steps in an episode must be at least 1, got 0\. .*"repair" .*leave the episode out/,
    fault: "emptyEpisodes",
    repaired: {},
    pieces: [],
  },
];

for (const { name, steps, says, fault, count = 1, step, code = "INVALID_DATA", columns, repaired, pieces } of CASES) {
  for (const form of EVERY_FORM.filter((form) => form !== "columns" || columns !== false)) {
    test(`${name} (steps as ${form})`, async () => {
      const before = structuredClone(steps);
      const episodes = [goodEpisode(3, 8), steps, goodEpisode(2, 9, true)];
      const rlds = datasetOf(episodes, form);
      const report = await inspectRlds(rlds);
      expect(report).toMatchObject({ mode: "inspect", complete: true, episodes: 3, steps: 5 + steps.length, faultyEpisodes: 1 });
      expect(report.faults[fault as "nonFinite"].count).toBe(count);
      expect(report.faults[fault as "nonFinite"].places[0]).toMatchObject(step === undefined ? { episode: 1 } : { episode: 1, step });

      const strict = importRlds(rlds);
      const error = await rejection(episodesOf(strict));
      expectError(error, code, says);
      expect(error).toBeInstanceOf(RldsError);
      expect(error).toMatchObject(step === undefined ? { episode: 1 } : { episode: 1, step });
      expect(strict.report).toMatchObject({ complete: false, kept: { episodes: 1 } });

      const drop = importRlds(rlds, { mode: "drop" });
      expect(await episodesOf(drop)).toEqual([0, 2].map((id) => ({ id, steps: episodes[id] })));
      expect(drop.report).toMatchObject({ complete: true, episodes: 3, kept: { episodes: 2, steps: 5 }, dropped: { steps: steps.length } });
      expect(drop.report.dropped.episodes).toEqual({ count: 1, places: [{ episode: 1 }] });

      const repair = importRlds(rlds, { mode: "repair" });
      const mended = pieces.map(([from, to, changes]) => ({ id: 1, steps: changed(steps, changes).slice(from, to) }));
      expect(await episodesOf(repair)).toEqual([{ id: 0, steps: episodes[0] }, ...mended, { id: 2, steps: episodes[2] }]);
      const counts = Object.fromEntries(Object.entries(repair.report.repaired).flatMap(([key, { count }]) => (count === 0 ? [] : [[key, count]])));
      expect(counts).toEqual(repaired);
      const left = pieces.reduce((sum, [from, to]) => sum + to - from, 0);
      expect(repair.report).toMatchObject({ kept: { episodes: 2 + pieces.length, steps: 5 + left }, dropped: { steps: steps.length - left } });
      expect(repair.report.dropped.episodes.count).toBe(pieces.length === 0 ? 1 : 0);
      expect(steps, "the source was changed").toEqual(before);
    });
  }
}

test("a report lists the first eight places and counts all", async () => {
  const episodes = Array.from({ length: 12 }, (_, i) => changed(goodEpisode(4, i), { 1: { reward: NAN }, 2: { discount: NAN } }));
  const { faults, returns } = await inspectRlds(datasetOf(episodes));
  expect(faults.nonFinite.count).toBe(24);
  expect(faults.nonFinite.places).toEqual(
    [0, 1, 2, 3].flatMap((episode) => [
      { episode, step: 1, path: "reward", value: NAN },
      { episode, step: 2, path: "discount", value: NAN },
    ]),
  );
  expect(returns.total).toBeNaN();
});

test("final observations of zeros are counted and kept in every mode", async () => {
  const padded = changed(goodEpisode(4, 1), { 3: { observation: { state: new Float32Array(3), goal: 0 } } });
  for (const form of EVERY_FORM) {
    for (const mode of ["strict", "repair", "drop"] satisfies ImportMode[]) {
      const imported = importRlds(datasetOf([goodEpisode(4, 0), padded], form), { mode });
      expect((await episodesOf(imported))[1]).toEqual({ id: 1, steps: padded });
      expect(imported.report).toMatchObject({ zeroFinalObservations: { count: 1, places: [{ episode: 1, step: 3 }] }, zeroFinalSteps: 2, faultyEpisodes: 0 });
    }
  }
});

test("flags can be numbers or arrays of one, and repair keeps their form", async () => {
  const flags = (first: unknown, last: unknown) => ({
    observation: [1],
    action: [1],
    reward: [0.5],
    discount: 1,
    is_first: first,
    is_last: last,
    is_terminal: 0,
  });
  const one = (x: number) => new Uint8Array([x]);
  const steps = [flags(0, one(0)), flags(0, one(0))];
  const [episode] = await episodesOf(importRlds([{ steps }] as never, { mode: "repair" }));
  expect(episode?.steps).toEqual([flags(1, one(0)), flags(0, one(1))]);
  expect(steps).toEqual([flags(0, one(0)), flags(0, one(0))]);
  expect((await inspectRlds([{ steps }] as never)).returns.total).toBe(1);
});

test("a rejected episode is not returned", async () => {
  const given: unknown[] = [];
  const bad = changed(goodEpisode(5, 1), { 4: { is_last: false } });
  const imported = importRlds(datasetOf([goodEpisode(2, 0), bad], "generator"));
  expectError(
    await rejection(
      (async () => {
        for await (const { id } of imported) given.push(id);
      })(),
    ),
    "INVALID_DATA",
  );
  expect(given).toEqual([0]);
});

test("each pass has its own report", async () => {
  const imported = importRlds(datasetOf([goodEpisode(2, 0), goodEpisode(3, 1)]));
  await episodesOf(imported);
  const first = imported.report;
  for await (const _ of imported) break;
  expect(first).toMatchObject({ complete: true, episodes: 2 });
  expect(imported.report).toMatchObject({ complete: false, episodes: 1 });
});

test("importRlds keeps the specs", () => {
  const metadataSpec = { id: { dtype: "i32", shape: [] } } as const;
  expect(importRlds(rldsDataset(() => [], { stepSpec: TEST_SPEC, metadataSpec }))).toMatchObject({ stepSpec: TEST_SPEC, metadataSpec });
  expect(importRlds([]).stepSpec).toBeUndefined();
});

test("an early break closes the source", async () => {
  const log: string[] = [];
  const source = rldsDataset<TestStep>(async function* () {
    try {
      for (let id = 0; ; id++) yield { id, steps: goodEpisode(2, id) };
    } finally {
      log.push("closed");
    }
  });
  for await (const _ of importRlds(source)) break;
  expect(log).toEqual(["closed"]);
});

test.runIf(whole)("a signal ends a pass before its start, in progress, and between async steps", async () => {
  const endless = rldsDataset<TestStep>(function* () {
    for (let id = 0; ; id++) yield { id, steps: goodEpisode(50, id) };
  });
  const reason = new Error("enough");
  await expect(inspectRlds(endless, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  for (const use of [inspectRlds, (rlds: RldsDataset<TestStep>, options: object) => episodesOf(importRlds(rlds, options))]) {
    const inTime = new AbortController();
    setTimeout(() => inTime.abort(reason));
    await expect(use(endless, { signal: inTime.signal })).rejects.toBe(reason);
    const inProgress = new AbortController();
    const progress: number[] = [];
    const onProgress = ({ episodes, steps }: { episodes: number; steps: number }) => {
      progress.push(steps);
      if (episodes === 3) inProgress.abort(reason);
    };
    await expect(use(endless, { signal: inProgress.signal, onProgress })).rejects.toBe(reason);
    expect(progress).toEqual([50, 100, 150]);
  }
  const between = new AbortController();
  const forever = async function* () {
    yield* goodEpisode(3, 0).slice(0, 2);
    between.abort(reason);
    for (;;) yield goodEpisode(3, 0)[1] as TestStep;
  };
  await expect(inspectRlds([{ steps: forever() }], { signal: between.signal })).rejects.toBe(reason);
});

test("importRlds and inspectRlds reject invalid arguments", async () => {
  expectError(
    errorOf(() => importRlds([], { mode: "mend" as never })),
    RangeError,
    /^mode must be one of strict, repair, drop, got "mend"/,
  );
  expectError(
    errorOf(() => importRlds([], { modus: "drop" } as never)),
    TypeError,
    /modus/,
  );
  expectError(
    errorOf(() => importRlds(1 as never)),
    TypeError,
    /^rlds must be/,
  );
  expectError(await rejection(inspectRlds([1] as never)), TypeError, /^episode 0 must be/);
  expectError(await rejection(inspectRlds([{ steps: 7 }] as never)), TypeError, /^steps of episode 0 must be/);
});

test("random faults: repaired data pass strict and keep valid transitions, and drop removes faulty episodes", async () => {
  const random = new TestRandom(20240701);
  for (let round = 0; round < scaled(400); round++) {
    const good = goodEpisodes(random, 1 + random.below(4));
    const broken = good.map((steps) => injected(random, steps));
    const form = random.pick(EVERY_FORM);
    const columnsFit = broken.every(({ hasMisfit }) => !hasMisfit);
    const rlds = datasetOf(
      broken.map(({ steps }) => steps),
      form === "columns" && !columnsFit ? "array" : form,
    );
    const before = structuredClone(broken.map(({ steps }) => steps));

    const report = await inspectRlds(rlds);
    expect(report.faultyEpisodes).toBe(broken.filter(({ faults }) => faults > 0).length);

    const dropped = await episodesOf(importRlds(rlds, { mode: "drop" }));
    expect(dropped).toEqual(broken.flatMap(({ steps, faults }, id) => (faults > 0 ? [] : [{ id, steps }])));

    const repair = importRlds(rlds, { mode: "repair" });
    const repaired: { id: unknown; final_step: unknown; steps: readonly TestStep[] }[] = [];
    for await (const { id, final_step, steps } of repair) repaired.push({ id, final_step, steps: [...(await collect(steps))] });
    const strict = importRlds(repaired as unknown as RldsDataset<TestStep>);
    expect(await episodesOf(strict)).toEqual(repaired.map(({ id, steps }) => ({ id, steps })));
    // The repaired data is valid input for trajectories.
    if (repaired.length > 0) {
      let trajectories = 0;
      for await (const _ of convertRldsToTrajectories(repaired as unknown as RldsDataset)) trajectories++;
      // Each transition becomes a trajectory, and each episode adds a boundary.
      expect(trajectories).toBe(strict.report.transitions + repaired.length);
    }
    expect(strict.report.steps + repair.report.dropped.steps).toBe(report.steps);
    expect(strict.report.returns).toEqual(repair.report.kept.returns);
    // The remaining steps equal those of the source, except for flags and the outcomes of last steps.
    for (const { id, final_step, steps } of repaired) {
      const source = new Map(broken[id as number]?.steps.map((step) => [step.tag, step]));
      for (const step of steps) {
        const was = source.get(step.tag) as TestStep;
        const { action, reward, discount, is_first, is_last, ...same } = step;
        expect(same).toEqual({ observation: was.observation, is_terminal: was.is_terminal, tag: was.tag });
        if (!is_last || final_step === "transition")
          expect({ action, reward, discount }).toEqual({ action: was.action, reward: was.reward, discount: was.discount });
        expect([is_first, is_last]).toEqual([step === steps[0], step === steps[steps.length - 1]]);
      }
      // The remaining steps were adjacent in the source.
      const places = steps.map((step) => Number(step.tag.split("/")[1]));
      expect(places).toEqual(places.map((_, i) => (places[0] as number) + i));
    }
    // All transitions without faults are kept.
    const kept = new Set(repaired.flatMap(({ steps }) => steps.slice(1).map((step, i) => `${steps[i]?.tag} ${step.tag}`)));
    for (const { steps, rightful } of broken) for (const i of rightful) expect(kept).toContain(`${steps[i]?.tag} ${steps[i + 1]?.tag}`);
    expect(broken.map(({ steps }) => steps)).toEqual(before);
  }
});

/** Injects random faults into an episode. `rightful` lists the steps i whose transitions to i + 1 must be kept. */
function injected(random: TestRandom, good: readonly TestStep[]): { steps: TestStep[]; faults: number; hasMisfit: boolean; rightful: number[] } {
  let steps = good.map((step) => ({ ...step }));
  const n = steps.length;
  const ended = new Set<number>();
  const lost = new Set<number>();
  let faults = 0;
  let hasMisfit = false;
  for (let k = random.below(4); k > 0; k--) {
    const at = random.below(n);
    const step = steps[at] as TestStep;
    const kind = random.below(7);
    faults++;
    if (kind === 0 && at < n - 1 && at > 0) {
      step.is_last = true;
      ended.add(at);
    } else if (kind === 1 && at > 0) {
      step.is_first = true;
      ended.add(at - 1);
    } else if (kind === 2 && at < n - 1) {
      step.is_terminal = true;
      ended.add(at);
    } else if (kind === 3) {
      step.observation = { ...step.observation, state: new Float32Array([1, NAN, 2]) };
      lost.add(at);
    } else if (kind === 4) {
      step.reward = Infinity;
      ended.add(at);
    } else if (kind === 5) {
      step.action = new Float32Array(3);
      hasMisfit = true;
      lost.add(at);
    } else if (kind === 6) (steps[n - 1] as TestStep).is_last = false;
    else faults--;
  }
  // Steps after a lost step or an invalid reward are only kept from the next episode on.
  const rightful: number[] = [];
  let isOut = false;
  for (let i = 0; i < n; i++) {
    const step = steps[i] as TestStep;
    if (step.is_first) isOut = false;
    if (lost.has(i)) isOut = true;
    if (!isOut && i + 1 < n && !ended.has(i) && !lost.has(i + 1) && !step.is_last && !step.is_terminal) rightful.push(i);
    if (!Number.isFinite(step.reward)) isOut = true;
    if (step.is_last || step.is_terminal) isOut = false;
  }
  if (random.next() < 0.1) {
    steps = [];
    faults = 1;
    return { steps, faults, hasMisfit: false, rightful: [] };
  }
  return { steps, faults, hasMisfit, rightful };
}

test("columns with another spec than the dataset are checked step by step", async () => {
  const wide = new StepColumns<TestStep>({ ...(TEST_SPEC as object), reward: { dtype: "f32", shape: [] } } as never, floatRewards(goodEpisode(3, 1)), 3);
  // Single numbers are valid, whatever the dtype of their column.
  expect((await inspectRlds<TestStep>(rldsDataset(() => [{ steps: wide }], { stepSpec: TEST_SPEC }))).faultyEpisodes).toBe(0);
  const other = rldsDataset<TestStep>(() => [{ steps: wide }], { stepSpec: { ...(TEST_SPEC as object), action: { dtype: "f64", shape: [2] } } as never });
  expect((await inspectRlds(other)).faults.wrongForms).toMatchObject({ count: 3, places: [{ episode: 0, step: 0, path: "action" }, { step: 1 }, { step: 2 }] });
});

function floatRewards(steps: readonly TestStep[]) {
  const data = [...columnsOfSteps(steps).data];
  data[7] = Float32Array.from(data[7] as Float64Array);
  return data;
}

test("repair copies only the changed columns, and shares memory for the others", async () => {
  const columns = columnsOfSteps(changed(goodEpisode(6, 1), { 0: { is_first: false }, 2: { is_last: true }, 4: { reward: NAN } }));
  const before = structuredClone(columns.data);
  const mended: StepColumns[] = [];
  for await (const { steps } of importRlds<TestStep>([{ steps: columns }], { mode: "repair" })) mended.push(steps as unknown as StepColumns);
  expect(mended.map(({ length }) => length)).toEqual([3, 2]);
  expect(columns.data).toEqual(before);
  for (const { data } of mended) expect((data[0] as Float32Array).buffer).toBe((columns.data[0] as Float32Array).buffer);
});

test("flags in columns must be 0 or 1", async () => {
  const columns = columnsOfSteps(goodEpisode(3, 1));
  const spec = { ...(TEST_SPEC as object), is_first: { dtype: "u8", shape: [] } } as never;
  const flags = (first: number) => new StepColumns<TestStep>(spec, [...columns.data.slice(0, 2), new Uint8Array([first, 0, 0]), ...columns.data.slice(3)], 3);
  expect((await inspectRlds([{ steps: flags(1) }])).faultyEpisodes).toBe(0);
  expect((await inspectRlds([{ steps: flags(2) }])).faults.wrongForms).toMatchObject({
    count: 1,
    places: [{ episode: 0, step: 0, path: "is_first", value: 2 }],
  });
});

test("an observation without elements does not count as zeros", async () => {
  const steps = goodEpisode(2, 0).map((step) => ({ ...step, observation: {} })) as unknown as TestStep[];
  expect(await inspectRlds([{ steps }])).toMatchObject({ faultyEpisodes: 0, zeroFinalObservations: { count: 0 } });
});

test("step metadata can be non-finite in every mode", async () => {
  const steps = goodEpisode(4, 1).map((step, i) => ({ ...step, distance: i === 0 ? NAN : i, odds: [1, i === 2 ? Infinity : 0] }));
  for (const mode of ["strict", "repair", "drop"] as const) {
    const imported = importRlds(datasetOf([steps], "array", false), { mode });
    expect(await episodesOf(imported)).toMatchObject([{ steps }]);
    expect(imported.report).toMatchObject({ faultyEpisodes: 0, faults: { nonFinite: { count: 0 } } });
  }
});
