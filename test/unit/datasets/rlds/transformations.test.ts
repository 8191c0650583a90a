/** Compares transformations of datasets with the real `rlds` (test/data/extra) and with naive implementations. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { collect } from "../../../../src/datasets/model/maybe-async.ts";
import { stepChecker } from "../../../../src/datasets/model/step-spec.ts";
import {
  batch,
  batchSteps,
  concatIfTerminal,
  type Each,
  filterEpisodes,
  mapEpisodes,
  mapSteps,
  nStep,
  type RldsDataset,
  type RldsStep,
  rldsDataset,
  StepColumns,
  type StepSpec,
  shiftKeys,
  stepSpecOf,
  truncateAfter,
} from "../../../../src/datasets/rlds/index.ts";
import { FORMS, goodEpisode, goodEpisodes, TEST_SPEC, type TestStep } from "../../../support/faulty-rlds.ts";
import { TestRandom } from "../../../support/random.ts";
import { errorOf, expectError } from "../../../support/refused.ts";
import { scaled } from "../../../support/size.ts";
import { goldenSteps } from "./golden-steps.ts";

const GOLDEN = JSON.parse(readFileSync(new URL("../../../data/extra/rlds_transformations.json", import.meta.url), "utf8"));
type Form = keyof typeof FORMS;
const EVERY_FORM = Object.keys(FORMS) as Form[];

/** Converts typed arrays to plain arrays, as in JSON. */
function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return [...(value as Float32Array)];
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}

async function onlyEpisode<S>(rlds: RldsDataset<S>): Promise<readonly S[]> {
  for await (const { steps } of rlds) return collect(steps);
  throw new Error("there is none");
}

async function stepsOf<S>(rlds: RldsDataset<S>): Promise<{ id: unknown; steps: readonly S[] }[]> {
  const found = [];
  for await (const { id, steps } of rlds) found.push({ id, steps: await collect(steps) });
  return found;
}

function datasetOf(episodes: readonly (readonly TestStep[])[], form: Form = "array"): RldsDataset<TestStep> {
  return rldsDataset(() => episodes.map((steps, id) => ({ id, steps: FORMS[form](steps) })), {
    stepSpec: TEST_SPEC,
    metadataSpec: { id: { dtype: "i32", shape: [] } },
  });
}

test("batch: windows equal those of rlds", () => {
  expect(GOLDEN.batch.length).toBe(384);
  for (const [length, size, shift, stride, dropRemainder, windows] of GOLDEN.batch) {
    const options = { size, stride, dropRemainder, ...(shift === null ? {} : { shift }) };
    const made = [...(batchSteps(goldenSteps(length), options) as Iterable<{ observation: { goal: { data: Float32Array } } }>)];
    expect(
      made.map(({ observation }) => [...observation.goal.data].map((goal) => goal / 3)),
      JSON.stringify([length, options]),
    ).toEqual(windows);
  }
});

test("shiftKeys: steps equal those of rlds", async () => {
  expect(GOLDEN.shift_keys.length).toBe(48);
  for (const [length, shift, keys, steps] of GOLDEN.shift_keys) {
    const shifted = await onlyEpisode(shiftKeys([{ steps: goldenSteps(length, 1) }], keys, shift));
    expect(plain(shifted), JSON.stringify([length, shift, keys])).toEqual(steps);
  }
});

test("truncateAfter: steps equal those of rlds, except for the flags of the last step", async () => {
  expect(GOLDEN.truncate.length).toBe(12);
  for (const [length, limit, steps] of GOLDEN.truncate) {
    const rlds = [{ steps: goldenSteps(length) }];
    const condition = (step: RldsStep) => (step.reward as number) > limit;
    expect(plain(await onlyEpisode(truncateAfter(rlds, condition, { mark: "none" })))).toEqual(steps);
    const isCut = steps.some((step: { reward: number }) => step.reward > limit);
    const marked = (more: object) => steps.map((step: object, i: number) => (isCut && i === steps.length - 1 ? { ...step, ...more } : step));
    expect(plain(await onlyEpisode(truncateAfter(rlds, condition)))).toEqual(marked({ is_last: true }));
    expect(plain(await onlyEpisode(truncateAfter(rlds, condition, { mark: "terminal" })))).toEqual(marked({ is_last: true, is_terminal: true }));
  }
});

test("concatIfTerminal: steps equal those of rlds", async () => {
  for (const [terminal, steps] of GOLDEN.concat_if_terminal)
    expect(plain(await onlyEpisode(concatIfTerminal([{ steps: goldenSteps(3, 2, terminal) }], (last) => [last])))).toEqual(steps);
});

/** Every transformation, with a naive implementation that returns the same result. */
const TWINS: readonly [string, (rlds: RldsDataset<TestStep>) => RldsDataset<unknown>, (steps: readonly TestStep[]) => unknown[]][] = [
  [
    "mapSteps",
    (rlds) => mapSteps(rlds, (step, index) => ({ ...step, reward: step.reward + index })),
    (steps) => steps.map((step, i) => ({ ...step, reward: step.reward + i })),
  ],
  ["filterEpisodes", (rlds) => filterEpisodes(rlds, () => true), (steps) => [...steps]],
  ["mapEpisodes", (rlds) => mapEpisodes(rlds, ({ steps, ...metadata }) => ({ ...metadata, steps }), { stepSpec: TEST_SPEC }), (steps) => [...steps]],
  [
    "truncateAfter",
    (rlds) => truncateAfter(rlds, (_, index) => index === 2),
    (steps) => steps.slice(0, 3).map((step, i) => (i === 2 ? { ...step, is_last: true } : step)),
  ],
  [
    "concatIfTerminal",
    (rlds) => concatIfTerminal(rlds, (last) => [last, last]),
    (steps) => [...steps, ...steps.filter(({ is_terminal }) => is_terminal).flatMap((last) => [last, last])],
  ],
  [
    "shiftKeys forward",
    (rlds) => shiftKeys(rlds, ["observation", "is_last"], 2),
    (steps) => steps.slice(2).map((to, i) => ({ ...(steps[i] as TestStep), observation: to.observation, is_last: to.is_last })),
  ],
  ["shiftKeys back", (rlds) => shiftKeys(rlds, ["tag"], -1), (steps) => steps.slice(1).map((step, i) => ({ ...step, tag: steps[i]?.tag }))],
  ["shiftKeys by nothing", (rlds) => shiftKeys(rlds, ["tag"], 0), (steps) => [...steps]],
  ["nStep", (rlds) => nStep(rlds, { n: 3, gamma: 0.9 }), (steps) => naiveNStep(steps, 3, 0.9)],
  ["batch", (rlds) => batch(rlds, { size: 3, shift: 2, dropRemainder: true }), (steps) => naiveBatch(steps, 3, 2, 1, true)],
  ["batch with stride", (rlds) => batch(rlds, { size: 2, shift: 1, stride: 2 }), (steps) => naiveBatch(steps, 2, 1, 2, false)],
  ["batch with remainder", (rlds) => batch(rlds, { size: 4 }), (steps) => naiveBatch(steps, 4, 4, 1, false)],
  [
    "a chain",
    (rlds) =>
      batch(
        mapSteps(
          truncateAfter(rlds, (_, index) => index === 4),
          (step) => ({ ...step, discount: 1 }),
        ),
        { size: 2, shift: 1 },
      ),
    (steps) =>
      naiveBatch(
        steps.slice(0, 5).map((step, i) => ({ ...step, discount: 1, is_last: step.is_last || i === 4 })),
        2,
        1,
        1,
        false,
      ),
  ],
];

function naiveBatch(steps: readonly TestStep[], size: number, shift: number, stride: number, dropRemainder: boolean): unknown[] {
  const windows = [];
  for (let from = 0; from < steps.length; from += shift) {
    const window = Array.from({ length: size }, (_, k) => steps[from + k * stride]).filter((step) => step !== undefined);
    if (dropRemainder && window.length < size) continue;
    const column = (make: (step: TestStep) => number) => window.map(make);
    const n = window.length;
    windows.push({
      observation: {
        state: { data: Float32Array.from(window.flatMap(({ observation }) => [...observation.state])), shape: [n, 3] },
        goal: { data: Int32Array.from(column(({ observation }) => observation.goal)), shape: [n] },
      },
      action: { data: Float32Array.from(window.flatMap(({ action }) => [...action])), shape: [n, 2] },
      reward: { data: Float64Array.from(column(({ reward }) => reward)), shape: [n] },
      discount: { data: Float32Array.from(column(({ discount }) => discount)), shape: [n] },
      is_first: { data: Uint8Array.from(column(({ is_first }) => Number(is_first))), shape: [n] },
      is_last: { data: Uint8Array.from(column(({ is_last }) => Number(is_last))), shape: [n] },
      is_terminal: { data: Uint8Array.from(column(({ is_terminal }) => Number(is_terminal))), shape: [n] },
      tag: { data: window.map(({ tag }) => tag), shape: [n] },
    });
  }
  return windows;
}

function naiveNStep(steps: readonly TestStep[], n: number, gamma: number): unknown[] {
  return steps.slice(0, -1).map((step, i) => {
    const rest = steps.length - 1 - i;
    const dead = steps.findIndex((later, j) => j >= i && later.discount === 0);
    const k = Math.min(n, rest, dead < 0 ? n : dead - i + 1);
    let reward = 0;
    let discount = 1;
    for (let j = i; j < i + k; j++) {
      reward += discount * (steps[j] as TestStep).reward;
      discount *= gamma * (steps[j] as TestStep).discount * (steps[j + 1]?.is_terminal ? 0 : 1);
    }
    const next = steps[i + k] as TestStep;
    return { ...step, reward, discount, n_steps: k, next_observation: next.observation, next_is_last: next.is_last, next_is_terminal: next.is_terminal };
  });
}

for (const [name, transform, twin] of TWINS) {
  test(`${name}: equals a naive implementation for every form of steps, with correct specs`, async () => {
    const random = new TestRandom(99);
    for (let round = 0; round < scaled(8, 2); round++) {
      const episodes = goodEpisodes(random, 4);
      const before = structuredClone(episodes);
      for (const form of EVERY_FORM) {
        const made = transform(datasetOf(episodes, form));
        const wanted = episodes.map((steps, id) => ({ id, steps: twin(steps) }));
        for (let pass = 0; pass < 2; pass++) expect((await stepsOf(made)).map(({ id, steps }) => ({ id, steps: [...steps] }))).toEqual(wanted);
        if (made.stepSpec !== undefined) {
          const check = stepChecker(made.stepSpec);
          for (const { steps } of wanted) for (const step of steps) expect(check(step)).toBeUndefined();
        } else expect(name).toMatch(/^(batch with|a chain)/);
        if (name !== "mapEpisodes") expect(made.metadataSpec).toEqual({ id: { dtype: "i32", shape: [] } });
      }
      expect(episodes).toEqual(before);
    }
  });

  test(`${name}: reads steps lazily, and an early break closes steps and episodes`, async () => {
    for (const later of [false, true]) {
      const log: string[] = [];
      function* steps() {
        try {
          for (const step of goodEpisode(40, 0)) yield step;
        } finally {
          log.push("steps");
        }
      }
      const laterSteps = async function* () {
        yield* steps();
      };
      function* episodes() {
        try {
          for (;;) yield { id: 0, steps: later ? laterSteps() : steps() };
        } finally {
          log.push("episodes");
        }
      }
      for await (const episode of transform(rldsDataset<TestStep>(episodes, { stepSpec: TEST_SPEC }))) {
        expect(log).toEqual([]);
        if (later) for await (const _ of episode.steps) break;
        else for (const _ of episode.steps as Iterable<unknown>) break;
        expect(log).toEqual(["steps"]);
        break;
      }
      expect(log).toEqual(["steps", "episodes"]);
    }
  });
}

test("n-step returns stop at a discount of 0, as in a table", async () => {
  const steps = goodEpisode(6, 1).map((step, i) => ({ ...step, reward: 1, discount: i === 2 ? 0 : 0.5 }));
  const made = await onlyEpisode(nStep([{ steps }], { n: 4, gamma: 1 }));
  expect(made.map(({ reward, discount, n_steps }) => [reward, discount, n_steps])).toEqual([
    [1.75, 0, 3],
    [1.5, 0, 2],
    [1, 0, 1],
    [1.5, 0.25, 2],
    [1, 0.5, 1],
  ]);
  const zero = await onlyEpisode(nStep([{ steps: goodEpisode(4, 1) }], { n: 2, gamma: 0 }));
  expect(zero.map(({ discount, n_steps }) => [discount, n_steps])).toEqual([
    [0, 2],
    [0, 2],
    [0, 1],
  ]);
});

test("a terminal observation has the value 0 for any discount", async () => {
  const steps = goodEpisode(4, 1, true).map((step) => ({ ...step, reward: 1, discount: 1 }));
  expect((await onlyEpisode(nStep([{ steps }], { n: 2, gamma: 0.5 }))).map(({ reward, discount, n_steps }) => [reward, discount, n_steps])).toEqual([
    [1.5, 0.25, 2],
    [1.5, 0, 2],
    [1, 0, 1],
  ]);
});

test("an n-step transition does not cross an is_last", async () => {
  const steps = [...goodEpisode(3, 1), ...goodEpisode(3, 2)];
  const made = await onlyEpisode(nStep([{ steps }], { n: 3, gamma: 1 }));
  expect(made.map(({ tag, n_steps, next_is_last }) => [tag, n_steps, next_is_last])).toEqual([
    ["1/0", 2, true],
    ["1/1", 1, true],
    ["2/0", 2, true],
    ["2/1", 1, true],
  ]);
});

test("steps without is_last at the end still have n-step transitions", async () => {
  const steps = goodEpisode(5, 1).map((step) => ({ ...step, is_last: false }));
  expect((await onlyEpisode(nStep([{ steps }], { n: 2, gamma: 1 }))).map(({ next_is_last, n_steps }) => [next_is_last, n_steps])).toEqual([
    [false, 2],
    [false, 2],
    [false, 2],
    [false, 1],
  ]);
});

test("nStep names the place of invalid rewards, discounts and flags", async () => {
  const refused = async (change: object) => {
    const steps = goodEpisode(3, 0).map((step, i) => (i === 1 ? { ...step, ...change } : step));
    return onlyEpisode(nStep([{ steps }], { n: 2, gamma: 1 })).then(
      () => new Error("not refused"),
      (error: Error) => error,
    );
  };
  expectError(await refused({ reward: new Float32Array(2) }), "SPEC_MISMATCH", /^reward must be a single number, got Float32Array\(2\) \(episode 0, step 1\)/);
  expectError(await refused({ discount: undefined }), "SPEC_MISMATCH", /^discount is required: a single number/);
  expectError(await refused({ is_last: "no" }), "SPEC_MISMATCH", /^is_last must be a flag/);
});

test("shiftKeys creates (s, a, r, s') and SARSA steps", async () => {
  const rlds = [{ steps: goodEpisode(4, 1, true) }];
  const sars = shiftKeys(
    mapSteps(rlds, (step) => ({ ...step, next_observation: step.observation })),
    ["next_observation", "is_last", "is_terminal"],
    1,
  );
  const steps = goodEpisode(4, 1, true);
  expect(
    (await onlyEpisode(sars)).map(({ observation, action, reward, next_observation, is_terminal }) => ({
      observation,
      action,
      reward,
      next_observation,
      is_terminal,
    })),
  ).toEqual(
    [0, 1, 2].map((i) => {
      const [{ observation, action, reward }, next] = [steps[i], steps[i + 1]] as [TestStep, TestStep];
      return { observation, action, reward, next_observation: next.observation, is_terminal: i === 2 };
    }),
  );
  const sarsa = shiftKeys(
    mapSteps(rlds, (step) => ({ ...step, next_observation: step.observation, next_action: step.action })),
    ["next_observation", "next_action"],
    1,
  );
  expect((await onlyEpisode(sarsa)).map(({ next_action }) => next_action)).toEqual([1, 2, 3].map((i) => steps[i]?.action));
});

test("a predicate can read one-time steps, and later readers get all of them", async () => {
  for (const form of EVERY_FORM) {
    for (const looks of [0, 1, 3, 99]) {
      const episodes = Array.from({ length: 4 }, (_, number) => goodEpisode(5, number));
      const closed: number[] = [];
      const source = rldsDataset<TestStep>(() => episodes.map((steps, id) => ({ id, steps: watched(FORMS[form](steps), () => closed.push(id)) })));
      const wanted = filterEpisodes(source, async ({ id, steps }) => {
        let seen = 0;
        if (looks > 0) for await (const _ of steps) if (++seen === looks) break;
        // Reading twice starts from the beginning.
        if (looks > 0) for await (const step of steps) return step.observation.state[0] !== 2 && step.observation.goal === 0;
        return id !== 1;
      });
      expect((await stepsOf(wanted)).map(({ id, steps }) => ({ id, steps: [...steps] }))).toEqual([0, 2, 3].map((id) => ({ id, steps: episodes[id] })));
      // Every opened iterator was closed, even if it was not read to the end.
      if (form === "generator" || form === "later") expect(closed).toEqual(looks > 0 ? [0, 1, 2, 3] : [0, 2, 3]);
    }
  }
});

function watched<S>(steps: Each<S>, close: () => void): Each<S> {
  if (Array.isArray(steps) || steps instanceof StepColumns) return steps;
  if (Symbol.iterator in steps) {
    return (function* () {
      try {
        yield* steps as Iterable<S>;
      } finally {
        close();
      }
    })();
  }
  return (async function* () {
    try {
      yield* steps;
    } finally {
      close();
    }
  })();
}

test("a predicate that throws closes steps and source", async () => {
  const closed: string[] = [];
  const source = rldsDataset<TestStep>(function* () {
    try {
      yield { id: 0, steps: watched(FORMS.generator(goodEpisode(3, 0)), () => closed.push("steps")) };
    } finally {
      closed.push("episodes");
    }
  });
  const wanted = filterEpisodes(source, ({ steps }) => {
    for (const _ of steps as Iterable<unknown>) throw new Error("no");
    return true;
  });
  await expect(stepsOf(wanted)).rejects.toThrow("no");
  expect(closed).toEqual(["steps", "episodes"]);
});

/** Returns the spec of mapped steps, which is known after the first step. */
async function specOf(mapped: RldsDataset<unknown>): Promise<StepSpec | undefined> {
  expect(mapped.stepSpec).toBeUndefined();
  await onlyEpisode(mapped);
  return mapped.stepSpec;
}

test("mapSteps knows its spec from options, the old spec or the first step", async () => {
  const rlds = datasetOf([goodEpisode(3, 0)]);
  const spec = TEST_SPEC as { readonly [field: string]: StepSpec };
  const grey: StepSpec = { dtype: "u8", shape: [84, 84] };
  expect(mapSteps(rlds, (step) => step, { stepSpec: grey }).stepSpec).toBe(grey);
  expect(mapSteps(rlds, (step) => step, { stepSpec: (old) => ({ ...(old as typeof spec), more: grey }) }).stepSpec).toEqual({ ...spec, more: grey });
  expect(await specOf(mapSteps(rlds, (step) => step))).toEqual(spec);
  expect(await specOf(mapSteps(rlds, ({ tag, ...step }) => step))).toEqual(Object.fromEntries(Object.entries(spec).filter(([name]) => name !== "tag")));
  expect(await specOf(mapSteps(rlds, (step) => ({ ...step, observation: step.observation.state })))).toEqual({
    ...spec,
    observation: { dtype: "f32", shape: [3] },
  });
  // Both rewards and discounts keep their float dtype.
  expect(await specOf(mapSteps(rlds, (step) => ({ ...step, reward: step.reward / 10, discount: step.discount / 2 })))).toEqual(spec);
  expect(await specOf(mapSteps(rlds, (step) => ({ ...step, action: Float64Array.from(step.action) })))).toEqual({
    ...spec,
    action: { dtype: "f64", shape: [2] },
  });
  // Copied fields keep their dtype if the function cannot be called with the spec.
  const mixed = mapSteps(rlds, (step) => ({ state: step.observation.state, action: step.action.map((x) => x * 2), goal: 0.5 }));
  expect(await specOf(mixed)).toEqual({ state: { dtype: "f32", shape: [3] }, action: { dtype: "f32", shape: [2] }, goal: { dtype: "f32", shape: [] } });
  // A number that replaces an integer may or may not be an integer, so the spec is unknown.
  expect(
    await specOf(mapSteps(rlds, (step) => ({ observation: { goal: (step.observation.goal + 1) / 2, state: step.observation.state.slice() } }))),
  ).toBeUndefined();
  expect(mapSteps([], (step) => step).stepSpec).toBeUndefined();
  // The function is not called before the steps are read.
  let calls = 0;
  const counted = mapSteps(rlds, (step) => {
    calls++;
    return step;
  });
  truncateAfter(shiftKeys(counted, ["tag"], 1), () => false);
  expect(calls).toBe(0);
});

test("unchanged images keep their shape in mapSteps", async () => {
  const spec: StepSpec = { image: { dtype: "u8", shape: [4, 4, 3] }, state: { dtype: "f32", shape: [2] } };
  const rlds = rldsDataset<{ image: Uint8Array; state: Float32Array }>(() => [{ steps: [{ image: new Uint8Array(48), state: new Float32Array(2) }] }], {
    stepSpec: spec,
  });
  expect(await specOf(mapSteps(rlds, (step) => ({ ...step, state: step.state.map((x) => x + 1) })))).toEqual(spec);
});

test("windows of columns are views if the stride is 1", async () => {
  const steps = FORMS.columns(goodEpisode(6, 0));
  const [window] = (await onlyEpisode(batch([{ steps }], { size: 3 }))) as unknown as [{ action: { data: Float32Array } }];
  expect(window.action.data.buffer).toBe((steps.data[0] as Float32Array).buffer);
});

test("batch names the place of a step of another shape", async () => {
  const steps = goodEpisode(4, 0).map((step, i) => (i === 2 ? { ...step, action: new Float32Array(3) } : step));
  const error = await onlyEpisode(batch([{ steps: goodEpisode(2, 0) }, { steps }].slice(1), { size: 2 })).catch((error: Error) => error);
  expectError(error as Error, "SPEC_MISMATCH", /^action must be f32 of shape \[2\], got Float32Array\(3\) \(episode 0, step 2\)/);
});

test("batch has columns for bigints, texts and bytes", () => {
  const steps = [1n, 2n].map((id) => ({ id, ids: [id, 7], word: "a", raw: new Uint8Array(Number(id)), words: ["b", `${id}`] }));
  const spec = {
    ...(stepSpecOf({ id: 1n, word: "a", words: ["b", "c"] }) as object),
    ids: { dtype: "u64", shape: [2] },
    raw: { dtype: "bytes", shape: [] },
  } as StepSpec;
  expect([...(batchSteps(steps, { size: 2 }, spec) as Iterable<unknown>)]).toEqual([
    {
      id: { data: new BigInt64Array([1n, 2n]), shape: [2] },
      ids: { data: new BigUint64Array([1n, 7n, 2n, 7n]), shape: [2, 2] },
      word: { data: ["a", "a"], shape: [2] },
      raw: { data: [new Uint8Array(1), new Uint8Array(2)], shape: [2] },
      words: { data: ["b", "1", "b", "2"], shape: [2, 2] },
    },
  ]);
});

test("transformations reject invalid arguments", async () => {
  const rlds = datasetOf([goodEpisode(2, 0)]);
  const refuse = (call: () => unknown, kind: typeof TypeError | typeof RangeError, ...says: RegExp[]) => expectError(errorOf(call), kind, ...says);
  refuse(() => batch(rlds, {} as never), TypeError, /^size is required: an integer/);
  refuse(() => batch(rlds, { size: 0 }), RangeError, /^size/);
  refuse(() => batch(rlds, { size: 1, shift: 0 }), RangeError, /^shift/);
  refuse(() => batch(rlds, { size: 1, stride: 0.5 }), TypeError, /^stride/);
  refuse(() => batch(rlds, { size: 1, dropRemainder: 1 as never }), TypeError, /^dropRemainder/);
  refuse(() => batch(rlds, { size: 1, drop_remainder: true } as never), TypeError, /drop_remainder/);
  refuse(() => nStep(rlds, { n: 0, gamma: 1 }), RangeError, /^n must/);
  refuse(() => nStep(rlds, { n: 1, gamma: Number.NaN }), RangeError, /^gamma/);
  refuse(() => shiftKeys(rlds, "tag" as never, 1), TypeError, /^keys/);
  refuse(() => shiftKeys(rlds, ["tag"], 0.5), TypeError, /^shift/);
  refuse(() => mapSteps(rlds, 1 as never), TypeError, /^change must be a function/);
  refuse(() => mapEpisodes(rlds, undefined as never), TypeError, /^change/);
  refuse(() => filterEpisodes(rlds, {} as never), TypeError, /^predicate/);
  refuse(() => truncateAfter(rlds, () => true, { mark: "end" as never }), RangeError, /^mark must be one of last, terminal, none/);
  refuse(() => truncateAfter(rlds, 5 as never), TypeError, /^condition/);
  refuse(() => concatIfTerminal(rlds, 5 as never), TypeError, /^makeExtraSteps/);
  refuse(() => mapSteps(3 as never, (step) => step), TypeError, /^rlds must be an iterable/);
  await expect(stepsOf(shiftKeys(rlds, ["tags" as never], 1))).rejects.toThrow(/^a key must .*\(.*tag.*\), got "tags"/);
});

test("sync episodes are returned without promises", () => {
  const episodes = [goodEpisode(3, 0), goodEpisode(2, 1)].map((steps) => ({ steps }));
  const made = mapSteps(episodes, (step) => step.reward) as Iterable<{ steps: Iterable<number> }>;
  expect([...made].map(({ steps }) => [...steps])).toEqual([
    [0, 1 / 8, 0],
    [1, 0],
  ]);
});
