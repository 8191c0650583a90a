/** Compares the transitions that a table makes from recorded episodes with a naive computation from the steps. */
import { setTimeout as soon } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  createTransitionSpec,
  type Each,
  importRlds,
  mapSteps,
  openReplay,
  openRlds,
  type PushEpisodesOptions,
  pushEpisodes,
  type RldsDataset,
  type RldsEpisode,
  type RldsError,
  type RldsStep,
  StepColumns,
  withFinalObservations,
} from "../../../../src/datasets/rlds/index.ts";
import { bool, f32, f64, fifo, i32, i64, prioritized, queueLimiter, Replay, type Spec, type TableOptions, text, u8 } from "../../../../src/index.ts";
import { broken } from "../../../support/health.ts";
import { TestRandom } from "../../../support/random.ts";
import { some, whole } from "../../../support/size.ts";
import { dataFolder } from "./data.ts";

type Any = Replay<Spec, string>;

interface Transition {
  readonly observation: readonly number[];
  readonly action: readonly number[];
  readonly returns: number;
  readonly discounts: number;
  readonly steps: number;
  readonly terminated: number;
  readonly truncated: number;
  readonly nextObservation: readonly number[];
}

const GAMMA = 0.9;

/** Flattens a value to numbers; objects are read in the order of their keys, as in a Replay. */
function numbers(value: unknown): number[] {
  if (ArrayBuffer.isView(value) || Array.isArray(value)) return Array.from(value as ArrayLike<unknown>).flatMap(numbers);
  if (typeof value === "object" && value !== null) {
    const names = Object.keys(value).sort();
    return names.flatMap((name) => numbers((value as { readonly [name: string]: unknown })[name]));
  }
  return [typeof value === "string" ? (value as never) : Number(value)];
}

/** Returns one transition per step except the last, computed from the steps. */
function naive(steps: readonly RldsStep[], n: number): Transition[] {
  const end = steps.length - 1;
  const last = steps[end] as RldsStep;
  return steps.slice(0, -1).map((step, t) => {
    const k = Math.min(n, end - t);
    let [returns, discounts] = [0, 1];
    for (let i = t; i < t + k; i++) {
      returns += discounts * (numbers(steps[i]?.reward)[0] as number);
      discounts *= GAMMA * (numbers(steps[i]?.discount)[0] as number);
    }
    const [reaches, isTerminal] = [t + k === end, Boolean(numbers(last.is_terminal)[0])];
    return {
      observation: numbers(step.observation),
      action: numbers(step.action),
      returns,
      discounts: reaches && isTerminal ? 0 : discounts,
      steps: k,
      terminated: Number(reaches && isTerminal),
      truncated: Number(reaches && !isTerminal),
      nextObservation: numbers(steps[t + k]?.observation),
    };
  });
}

/** Returns all transitions of a table in the order in which they were made. */
function transitionsOf(replay: Any): Transition[] {
  const table = replay.table("t");
  const { size } = table;
  const batch = table.transitions({ gamma: GAMMA, dtype: "f64" }).sample(size, { replacement: false }) as never as {
    readonly keys: Float64Array;
    readonly [column: string]: unknown;
  };
  const order = [...batch.keys.keys()].sort((a, b) => (batch.keys[a] as number) - (batch.keys[b] as number));
  // `column` is a single column, or an object of columns.
  const part = (column: unknown, i: number): number[] => {
    const { data } = column as { readonly data?: ArrayLike<number> };
    if (!ArrayBuffer.isView(data) && !Array.isArray(data))
      return Object.keys(column as object)
        .sort()
        .flatMap((name) => part((column as { [name: string]: unknown })[name], i));
    const each = (data as unknown as Float64Array).length / size;
    return numbers((data as unknown as Float64Array).slice(i * each, (i + 1) * each));
  };
  const names = ["returns", "discounts", "steps", "terminated", "truncated"];
  return order.map((i) => ({
    observation: part(batch.observation, i),
    action: part(batch.action, i),
    nextObservation: part(batch.nextObservation, i),
    ...Object.fromEntries(names.map((name) => [name, part(batch[name], i)[0]])),
  })) as unknown as Transition[];
}

const names = ["observation", "action", "steps", "terminated", "truncated", "nextObservation"] as const;

/** Compares transitions. Returns may differ by rounding, because their terms may be added in any order. All other values must be equal. */
function expectSame(found: readonly Transition[], wanted: readonly Transition[]): void {
  expect(found.length).toBe(wanted.length);
  const far = found.findIndex((one, i) => {
    const { returns, discounts, ...rest } = one;
    const { returns: wantedReturns, discounts: wantedDiscounts, ...wantedRest } = wanted[i] as Transition;
    const near = Math.abs(returns - wantedReturns) <= 1e-9 * (1 + Math.abs(returns)) && Math.abs(discounts - wantedDiscounts) <= 1e-9;
    return !near || names.some((name) => String(rest[name]) !== String(wantedRest[name]));
  });
  expect(far, `transition ${far}: ${JSON.stringify(found[far])} instead of ${JSON.stringify(wanted[far])}`).toBe(-1);
}

function replayOf(spec: Spec, nStep: number, table: Partial<TableOptions> = {}) {
  const replay = new Replay({ spec, tables: { t: { maxSize: 20_000, ...table } } }) as Any;
  return { replay, writer: replay.writer({ items: [{ table: "t", nStep }] }) };
}

const FLAGS = { is_first: bool(), is_last: bool(), is_terminal: bool() };
const SPEC = { observation: { at: f32(2), far: f64() }, action: i32(), reward: f32(), discount: f32() };
const STEP = { ...SPEC, ...FLAGS, extra: f32(3), note: text({ maxBytes: 20 }) };

type Ending = "terminal" | "truncated" | "cut";

function episode(length: number, ending: Ending, random = new TestRandom(length)): RldsStep[] {
  return Array.from({ length }, (_, i) => ({
    observation: { at: Float32Array.from({ length: 2 }, () => random.below(1000)), far: random.next() },
    action: random.below(5),
    reward: random.below(9) - 4,
    discount: random.below(8) === 0 ? 0.5 : 1,
    is_first: i === 0,
    is_last: i === length - 1 && ending !== "cut",
    is_terminal: i === length - 1 && ending === "terminal",
    extra: [i, i, i],
    note: `step ${i}`,
  }));
}

/** Returns the same steps in every accepted form. */
const GIVEN: { readonly [form: string]: (steps: RldsStep[]) => Each<RldsStep> } = {
  "an array": (steps) => steps,
  columns(steps) {
    const fields = { at: Float32Array, far: Float64Array };
    const one = (name: string) => steps.map((step) => step[name]);
    const flag = (name: string) => Uint8Array.from(one(name) as boolean[], Number);
    const seen = (name: "at" | "far") => fields[name].from(steps.flatMap((step) => numbers((step.observation as { [name: string]: unknown })[name])));
    const data = [
      Int32Array.from(one("action") as number[]),
      Float32Array.from(one("discount") as number[]),
      Float32Array.from(one("extra").flat() as number[]),
      flag("is_first"),
      flag("is_last"),
      flag("is_terminal"),
      one("note") as string[],
      seen("at"),
      seen("far"),
      Float32Array.from(one("reward") as number[]),
    ];
    return new StepColumns<RldsStep>(STEP as never, data, steps.length);
  },
  "a generator that uses one array again": function* (steps) {
    const at = new Float32Array(2);
    for (const step of steps) {
      const { at: own, far } = step.observation as { at: Float32Array; far: number };
      at.set(own);
      yield { ...step, observation: { at, far } };
    }
  } as (steps: RldsStep[]) => Each<RldsStep>,
  "steps that are waited for": async function* (steps) {
    yield* steps;
  } as (steps: RldsStep[]) => Each<RldsStep>,
};

describe("random episodes", () => {
  for (const [name, given] of Object.entries(GIVEN)) {
    test.each(some([1, 2, 3, 4, 5], 1))(`transitions equal a naive computation, from ${name}, n = %i`, async (n) => {
      const random = new TestRandom(n);
      const episodes = Array.from({ length: 40 }, () => episode(1 + random.below(12), random.pick<Ending>(["terminal", "truncated", "cut"]), random));
      const known = random.below(2) === 0;
      const data = Object.assign(
        episodes.map((steps) => ({ steps: given(steps) })),
        known ? { stepSpec: STEP } : {},
      ) as RldsDataset;
      const { replay, writer } = replayOf(SPEC, n, random.below(2) === 0 ? { sampler: prioritized(0.6) } : {});
      const seen: number[] = [];
      const pushed = await pushEpisodes(data, writer, { onProgress: ({ steps }) => seen.push(steps) });
      // Truncated episodes end with a transition, so their last observation is repeated.
      const whole = episodes.map((steps) => (steps.at(-1)?.is_last ? steps : [...steps, steps.at(-1) as RldsStep]));
      const lived = whole.filter((steps) => steps.length > 1);
      const wanted = lived.flatMap((steps) => naive(steps, n));
      const terminated = lived.filter((steps) => steps.at(-1)?.is_terminal).length;
      expect(pushed).toEqual({
        episodes: lived.length,
        steps: wanted.length,
        terminated,
        truncated: lived.length - terminated,
        repeated: episodes.filter((steps) => !steps.at(-1)?.is_last).length,
        dropped: 0,
        items: wanted.length,
      });
      expect([seen.length, seen.at(-1)]).toEqual([lived.length, wanted.length]);
      expectSame(transitionsOf(replay), wanted);
      expect(broken(replay)).toEqual([]);
    });
  }

  test.runIf(whole)("episodes span several blocks of wide rows", async () => {
    // A block contains four rows.
    const wide = { ...SPEC, wide: u8(2 ** 20) };
    const steps = episode(23, "truncated").map((step) => ({ ...step, wide: new Uint8Array(2 ** 20) }));
    const { replay, writer } = replayOf(wide, 4, { maxSize: 100 });
    await pushEpisodes([{ steps }], writer);
    expectSame(transitionsOf(replay), naive(steps, 4));
  });

  test("the result counts the items of rules with a length", async () => {
    const replay = new Replay({ spec: SPEC, tables: { t: { maxSize: 1000 } } });
    for (const [length, stride] of [
      [1, 1],
      [1, 3],
      [3, 1],
      [4, 2],
      [9, 5],
    ] as const) {
      const before = replay.stats().tables.t?.inserts as number;
      const writer = replay.writer({ items: [{ table: "t", length, stride }] });
      const { items } = await pushEpisodes([{ steps: episode(9, "cut") }, { steps: episode(4, "terminal") }], writer);
      expect(items).toBe((replay.stats().tables.t?.inserts as number) - before);
    }
  });
});

describe("datasets of real tools", () => {
  const SETS = ["tfds/cartpole", "tfds/half_cheetah", "minari/cartpole/scripted-v0", "d4rl/half_cheetah.hdf5", "extra/lerobot_v2"];
  test.each(some(SETS, 1))("transitions of %s equal a naive computation", async (path) => {
    const data = await openRlds(dataFolder(path), path.startsWith("tfds") ? { split: "train[:8]" } : {});
    try {
      // The steps are passed one by one, without metadata.
      const only = mapSteps(data as RldsDataset, ({ observation, action, reward, discount, is_first, is_last, is_terminal }) => ({
        ...{ observation, action, reward, discount },
        ...{ is_first, is_last, is_terminal },
      }));
      const spec = await createTransitionSpec(data, { maxTextBytes: 64 });
      for (const [n, given] of [
        [3, data],
        [1, only],
      ] as const) {
        const wanted: Transition[] = [];
        for await (const { steps } of withFinalObservations(data as RldsDataset) as AsyncIterable<RldsEpisode>)
          wanted.push(...naive([...(steps as StepColumns<RldsStep>)], n));
        const { replay, writer } = replayOf(spec, n);
        expect((await pushEpisodes(given as RldsDataset, writer)).items).toBe(wanted.length);
        expectSame(transitionsOf(replay), wanted);
      }
    } finally {
      await data.close();
    }
  });
});

async function refusal(data: unknown, spec: Spec = SPEC, options: PushEpisodesOptions = {}): Promise<RldsError> {
  const { replay, writer } = replayOf(spec, 2);
  const error = await pushEpisodes(data as RldsDataset, writer, options).then(
    () => expect.unreachable(),
    (error) => error,
  );
  expect(replay.table("t").size).toBe(0);
  expect(writer.episodeSteps).toBe(0);
  return error;
}

const known = (...episodes: RldsStep[][]) =>
  Object.assign(
    episodes.map((steps) => ({ steps })),
    { stepSpec: STEP },
  );

describe("rejects before anything is pushed", () => {
  const good = episode(5, "terminal");
  test.each([
    [
      "another dtype",
      { ...SPEC, action: f32() },
      /action is f32 of shape \[\] in the writer's spec, but action is i32 of shape \[\] in the data\. Convert it with mapSteps/,
    ],
    ["another shape", { ...SPEC, observation: { at: f32(3), far: f64() } }, /observation\.at is f32 of shape \[3\].*observation\/at is f32 of shape \[2\]/],
    ["an unknown leaf", { ...SPEC, mask: f32(2) }, /mask is f32 of shape \[2\].*have no leaf mask\..* Use fields to map it to one of action, discount, /],
  ])("%s", async (_, spec, message) => {
    for (const data of [known(good), [{ steps: GIVEN.columns?.(good) }]]) {
      const error = await refusal(data, spec);
      expect([error.name, error.code]).toEqual(["RldsError", "SPEC_MISMATCH"]);
      expect(error.message).toMatch(message);
    }
  });

  test("another shape and a missing leaf, in data without a spec", async () => {
    for (const [spec, path] of [
      [{ ...SPEC, mask: f32(2) }, "mask"],
      [{ ...SPEC, observation: { at: f32(3), far: f64() } }, "observation/at"],
    ] as const)
      expect(await refusal([{ steps: good }], spec)).toMatchObject({ code: "SPEC_MISMATCH", episode: 0, message: expect.stringContaining(path) });
  });

  test("flags at the wrong step", async () => {
    const changed = (row: number, more: Partial<RldsStep>) => [{ steps: good.map((step, i) => (i === row ? { ...step, ...more } : step)) }];
    expect(await refusal(changed(2, { is_last: true }))).toMatchObject({
      code: "INVALID_DATA",
      episode: 0,
      step: 2,
      message: expect.stringContaining("is_last"),
    });
    expect(await refusal(changed(2, { is_first: true }))).toMatchObject({ code: "INVALID_DATA", step: 2, message: expect.stringContaining("is_first") });
    expect(await refusal(changed(4, { is_last: false }))).toMatchObject({ code: "INVALID_DATA", step: 4, message: expect.stringContaining("is_terminal") });
    expect(await refusal(changed(1, { is_last: 2 }))).toMatchObject({ code: "SPEC_MISMATCH", step: 1, message: expect.stringContaining("is_last") });
    expect(await refusal(changed(1, { is_last: undefined }))).toMatchObject({ code: "SPEC_MISMATCH", step: 1 });
    const { is_terminal: _, ...less } = STEP;
    expect(await refusal(Object.assign([], { stepSpec: less }))).toMatchObject({ code: "SPEC_MISMATCH", message: expect.stringContaining("is_terminal") });
  });

  test("data without episodes or steps", async () => {
    expect(await refusal(undefined)).toBeInstanceOf(TypeError);
    expect(await refusal([])).toMatchObject({ code: "EMPTY" });
    expect(await refusal([{ steps: episode(1, "terminal") }])).toMatchObject({ code: "EMPTY", message: expect.stringContaining("two steps") });
    expect(await refusal([{}])).toMatchObject({ code: "SPEC_MISMATCH", episode: 0 });
    expect(await refusal([{ steps: [undefined] }])).toMatchObject({ code: "SPEC_MISMATCH", episode: 0, step: 0 });
  });

  test("invalid options and writers", async () => {
    const data = known(good);
    expect(await refusal(data, SPEC, { gamma: 1 } as never)).toMatchObject({ message: expect.stringContaining("gamma") });
    expect(await refusal(data, SPEC, { fields: { obs: "observation" } })).toMatchObject({ message: expect.stringContaining("obs") });
    expect(await refusal(data, SPEC, { fields: { action: 3 } } as never)).toMatchObject({ message: expect.stringContaining("fields.action must be the path") });
    expect(await refusal(data, SPEC, { signal: AbortSignal.abort(new Error("no")) })).toMatchObject({ message: "no" });
    const { replay, writer } = replayOf(SPEC, 1);
    await expect(pushEpisodes(data, replay as never)).rejects.toThrow("writer must be a writer");
    const lanes = replay.writer({ lanes: 2, autoreset: "disabled", items: [{ table: "t", nStep: 1 }] });
    await expect(pushEpisodes(data, lanes)).rejects.toThrow(/^writer .*got 2 lanes$/);
    await expect(pushEpisodes(data, replay.writer({ autoreset: "nextStep" }))).rejects.toThrow("nextStep");
    writer.append({ observation: { at: [0, 0], far: 0 }, action: 0, reward: 0, discount: 1 });
    await expect(pushEpisodes(data, writer)).rejects.toMatchObject({ code: "OUT_OF_TURN" });
  });
});

test("a push rejects non-finite rewards with their episode, and ignores those of a last step", async () => {
  const { replay, writer } = replayOf(SPEC, 2);
  const last = episode(4, "truncated").map((step) => (step.is_last ? { ...step, reward: Number.NaN, action: 77 } : step));
  const bad = episode(4, "truncated").map((step, i) => (i === 1 ? { ...step, reward: Number.NaN } : step));
  await expect(pushEpisodes([{ steps: last }, { steps: bad }], writer)).rejects.toMatchObject({ name: "RldsError", code: "INVALID_DATA", episode: 1 });
  expectSame(transitionsOf(replay), naive(last, 2));
});

test("`fields` maps leaves to other names", async () => {
  const spec = { obs: { at: f32(2) }, act: i32(), rew: f32(), aux: { far: f64(), mask: f32(3) } };
  const replay = new Replay({ spec, tables: { t: { maxSize: 100 } }, transition: { observation: "obs", action: "act", reward: "rew" } });
  const writer = replay.writer({ items: [{ table: "t", nStep: 2 }] });
  const steps = episode(6, "terminal");
  const fields = { obs: "observation", act: "action", rew: "reward", "aux.far": "observation/far", "aux.mask": "extra" };
  for (const form of ["an array", "columns"]) {
    replay.tables.t.clear();
    await pushEpisodes([{ steps: GIVEN[form]?.(steps) as Each<RldsStep> }], writer, { fields });
    const { aux, nextObs, action } = replay.tables.t.transitions({ gamma: 1, next: ["aux"] }).sample(5, { replacement: false }) as never as {
      aux: { mask: { data: Float32Array } };
      nextObs: unknown;
      action: { data: Int32Array };
    };
    expect([...new Set(aux.mask.data)].sort()).toEqual([0, 1, 2, 3, 4]);
    expect([...action.data].sort()).toEqual(
      steps
        .slice(0, 5)
        .map((step) => step.action)
        .sort(),
    );
    expect(nextObs).toBeUndefined();
  }
});

describe("with a rate limiter", () => {
  const queue = { sampler: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(5) };
  const episodes = [9, 2, 14].map((length) => ({ steps: episode(length, "terminal") }));
  const all = episodes.flatMap(({ steps }) => naive(steps, 3));

  test.each(some([1023, 6, 3], 1))("waits and loses no items, with maxPending %i", async (maxPending) => {
    const { replay, writer } = replayOf(SPEC, 3, { ...queue, maxPending });
    const pushing = pushEpisodes(episodes, writer);
    const got: number[] = [];
    while (got.length < all.length) {
      const { action } = (await replay.table("t").transitions({ gamma: 1 }).sampleWhenReady(1, { timeoutMs: 5000 })) as never as {
        action: { data: Int32Array };
      };
      got.push(action.data[0] as number);
      expect(replay.stats().tables.t?.pending).toBeLessThanOrEqual(maxPending);
    }
    expect(got).toEqual(all.flatMap(({ action }) => action));
    expect((await pushing).items).toBe(all.length);
  });

  test("a signal ends the wait, and the writer can then be closed", async () => {
    const { replay, writer } = replayOf(SPEC, 3, { ...queue, maxPending: 3 });
    const stop = new AbortController();
    const pushing = pushEpisodes([{ steps: episode(40, "terminal") }], writer, { signal: stop.signal });
    await soon(5);
    stop.abort(new Error("enough"));
    await expect(pushing).rejects.toThrow("enough");
    expect(writer.episodeSteps).toBeGreaterThan(0);
    await expect(pushEpisodes(episodes, writer)).rejects.toMatchObject({ code: "OUT_OF_TURN" });
    writer.close();
    expect(broken(replay)).toEqual([]);
  });

  test("rejects with RATE_LIMITED if maxPending is 0", async () => {
    const { writer } = replayOf(SPEC, 3, { ...queue, maxPending: 0 });
    await expect(pushEpisodes(episodes, writer)).rejects.toMatchObject({
      name: "RldsError",
      code: "RATE_LIMITED",
      episode: 0,
      message: expect.stringContaining("maxPending"),
    });
  });
});

describe("plain numbers", () => {
  const lines = (...steps: readonly object[]) => openRlds(new Blob([steps.map((step) => JSON.stringify(step)).join("\n")]));
  const step = (more: object) => ({ observation: [0.5, 1], action: 1, reward: 0.123456789, seed: 7, done: false, ...more });

  test("of a text file fit any dtype, directly or through mapSteps and importRlds", async () => {
    const spec = { observation: f32(2), action: f32(), reward: f32(), seed: u8(), n: { big: i64(), flag: bool() } };
    const data = await lines(step({ n: { big: 9007199254740991, flag: 1 } }), step({ n: { big: 3, flag: 0 }, action: 2, done: true }));
    expect(data.stepSpec).toMatchObject({ action: { dtype: "i32" }, reward: { dtype: "f64" }, seed: { dtype: "i32" }, n: { big: { dtype: "i64" } } });
    for (const source of [data, mapSteps(data, (one) => ({ ...one }), { stepSpec: data.stepSpec }), importRlds(data)]) {
      const replay = new Replay({ spec, tables: { memory: { maxSize: 10, sampler: fifo() } } });
      const writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
      await pushEpisodes(source as RldsDataset, writer);
      const [first] = await stepsOf(replay as never);
      expect(first).toMatchObject({ action: 1, reward: Math.fround(0.123456789), seed: 7, n: { big: 9007199254740991n, flag: true } });
      writer.close();
      replay.dispose();
    }
  });

  test("out of range are rejected with their place, and typed columns are not cast", async () => {
    const spec = { observation: f32(2), action: u8(), reward: f32() };
    const replay = new Replay({ spec, tables: { memory: { maxSize: 10 } } });
    const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
    await expect(pushEpisodes(await lines(step({}), step({ action: 256, done: true })), writer)).rejects.toMatchObject({
      code: "INVALID_DATA",
      message: expect.stringMatching(/action must be u8, an integer in 0 … 255, got 256/),
      episode: 0,
      step: 1,
    });
    await expect(pushEpisodes(await openRlds(dataFolder("tfds/cartpole")), writer)).rejects.toMatchObject({ code: "SPEC_MISMATCH" });
    replay.dispose();
  });
});

async function stepsOf(replay: Any): Promise<RldsStep[]> {
  const reader = await openReplay(new Blob([...replay.snapshot()] as Uint8Array<ArrayBuffer>[]));
  const steps: RldsStep[] = [];
  for await (const episode of reader) steps.push(...(episode.steps as Iterable<RldsStep>));
  await reader.close();
  return steps;
}
