import { describe, expect, it } from "vitest";
import {
  convertRldsToTrajectories,
  createTrajectoryDataSpec,
  type Each,
  memorySink,
  openRlds,
  pushRldsToReverb,
  type RldsDataset,
  type RldsEpisode,
  RldsError,
  type RldsStep,
  rldsDataset,
  type StepSpec,
  writeJsonl,
  writeParquet,
  writeTfds,
} from "../../../../src/datasets/rlds/index.ts";
import { bool, type Column, f32, f64, fifo, i32, i64, type Leaf, Replay, type Spec, text } from "../../../../src/index.ts";
import { LocalClient, ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver, type Signature } from "../../../../src/tf-agents/index.ts";
import { signatureOf } from "../../../../src/tf-agents/signature.ts";

/** Returns an episode of `length` steps with the observations `from`, `from + 1`, … */
function episode(length: number, { from = 0, terminal = false } = {}): { steps: RldsStep[] } {
  const steps = Array.from({ length }, (_, i) => ({
    observation: Float32Array.of(from + i, -from - i),
    action: i % 3,
    reward: i / 2,
    discount: 1,
    is_first: i === 0,
    is_last: i === length - 1,
    is_terminal: terminal && i === length - 1,
  }));
  return { steps };
}

const stepSpec = { observation: f32(2), action: i32(), reward: f32(), discount: f32(), is_first: bool(), is_last: bool(), is_terminal: bool() };

const dataset = (...episodes: { steps: Each<RldsStep> }[]): RldsDataset => Object.assign(episodes, { stepSpec });

async function all<T>(each: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of each) values.push(value);
  return values;
}

async function thrown(call: () => unknown): Promise<RldsError> {
  try {
    await call();
  } catch (error) {
    return error as RldsError;
  }
  throw new Error("nothing was thrown");
}

async function table(rlds: RldsDataset) {
  const spec: Spec = await createTrajectoryDataSpec(rlds);
  return new Replay<Spec, string>({ spec, tables: { t: { maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 } } });
}

/** Draws and removes all items of a table. Returns the first number of each step's observation, per item. */
function items(replay: Replay<Spec, string>): number[][] {
  const found: number[][] = [];
  for (;;) {
    const { count, steps } = replay.table("t").sample(1);
    if (count === 0) return found;
    const { data } = (steps as unknown as { observation: { data: Float32Array } }).observation;
    found.push([...data].filter((_, i) => i % 2 === 0));
  }
}

describe("createTrajectoryDataSpec", () => {
  it("converts the spec of half-cheetah/v0-expert as in the documentation", async () => {
    const halfCheetah = { ...stepSpec, observation: f32(17), action: f32(6) };
    expect(await createTrajectoryDataSpec(Object.assign([], { stepSpec: halfCheetah }))).toEqual({
      stepType: i32(),
      observation: f32(17),
      action: f32(6),
      policyInfo: [],
      nextStepType: i32(),
      reward: f32(),
      discount: { ...f32(), minimum: 0, maximum: 1 },
    });
  });

  it("reads the first step if the dataset has no spec, and closes the dataset", async () => {
    let closed = 0;
    const generated = rldsDataset(async function* () {
      try {
        yield* [{ steps: [] }, episode(3)];
      } finally {
        closed++;
      }
    });
    const { observation, action } = await createTrajectoryDataSpec(generated);
    expect({ observation, action, closed }).toEqual({ observation: f32(2), action: f32(), closed: 1 });
  });

  it("limits text by its spec or maxTextBytes, and rejects bytes", async () => {
    const step = { ...episode(1).steps[0], observation: { task: "go", x: 1 }, action: ["a", "b"] };
    const data = [{ steps: [step] }] as unknown as RldsDataset;
    const { observation, action } = await createTrajectoryDataSpec(data, undefined, { maxTextBytes: 9 });
    expect({ observation, action }).toEqual({ observation: { task: text({ maxBytes: 9 }), x: f32() }, action: text({ maxBytes: 9 }, 2) });
    const said = { ...stepSpec, observation: { task: text({ maxBytes: 4 }), more: { dtype: "string", shape: [] } }, action: f32() } as StepSpec;
    const both = { ...step, observation: { task: "go", more: "on" }, action: 1 };
    const known = await createTrajectoryDataSpec(Object.assign([{ steps: [both, both] }], { stepSpec: said }) as never, ({ observation }) => observation, {
      maxTextBytes: 5,
    });
    const limits = { task: text({ maxBytes: 4 }), more: text({ maxBytes: 5 }) };
    expect(known).toMatchObject({ observation: limits, policyInfo: limits });
    expect((await thrown(() => createTrajectoryDataSpec(data))).message).toMatch(/^observation\/task is text without a byte limit\. Set maxTextBytes/);
    const bytes = Object.assign([], { stepSpec: { ...stepSpec, action: { dtype: "bytes", shape: [] } } as StepSpec });
    const error = await thrown(() => createTrajectoryDataSpec(bytes, undefined, { maxTextBytes: 9 }));
    expect([error.code, error.message]).toEqual(["UNSUPPORTED", expect.stringMatching(/^action is bytes, which a Replay cannot store/)]);
    for (const options of [{ maxTextBytes: 0 }, { maxBytes: 5 }, null])
      await expect(createTrajectoryDataSpec(data, undefined, options as never)).rejects.toThrow(/maxTextBytes|options/);
  });

  it("a spec with text lets steps be pushed, drawn, written to files and read back", async () => {
    const told = (words: readonly string[]) => ({
      steps: words.map((word, i) => ({
        observation: { task: word, x: i },
        ...{ action: 1, reward: 0, discount: 1, is_first: i === 0, is_last: i === words.length - 1, is_terminal: false },
      })),
    });
    const data = [told(["né", "€", "", "go"]), told(["a", "b"])] as unknown as RldsDataset;
    const windows = await all(convertRldsToTrajectories(data, undefined, { sequenceLength: 3 }));
    expect((windows[0] as { observation: { task: unknown } }).observation.task).toEqual({ data: ["né", "€", ""], shape: [3] });
    const spec = await createTrajectoryDataSpec(data, undefined, { maxTextBytes: 3 });
    const replay = new Replay({ spec, tables: { t: { maxSize: 10, sampler: fifo() } } });
    const observer = new ReverbAddEpisodeObserver(replay, { tableName: "t", maxSequenceLength: 10 });
    expect(await pushRldsToReverb(data, observer)).toBe(6);
    const { steps, lengths } = replay.table("t").sample(2, { replacement: false });
    const { task } = (steps as { observation: { task: Column<"string"> } }).observation;
    expect([[...lengths], task]).toEqual([[4, 2], { data: ["né", "€", "", "go", "a", "b", "", ""], shape: [2, 4] }]);

    // The contents of a Replay are also a valid dataset.
    const { observation } = spec;
    const FLAG = { dtype: "bool", shape: [] } as const;
    const drawn = { observation, action: f32(), reward: f32(), discount: f32(), is_first: FLAG, is_last: FLAG, is_terminal: FLAG } as StepSpec;
    const gathered = rldsDataset(
      () =>
        [...lengths].map((length, i) => ({
          steps: told(task.data.slice(4 * i, 4 * i + length)).steps,
        })) as unknown as RldsEpisode[],
      { stepSpec: drawn, metadataSpec: {} },
    );
    for (const write of [writeJsonl, writeParquet, (from: RldsDataset, to: Map<string, Uint8Array>) => writeTfds(from, to, { name: "said" })]) {
      const files = memorySink();
      await write(gathered, files);
      const reader = await openRlds(files);
      const texts: string[][] = [];
      for await (const { steps } of reader) texts.push((steps.columns as { observation: { task: { data: string[] } } }).observation.task.data);
      expect(texts).toEqual([
        ["né", "€", "", "go"],
        ["a", "b"],
      ]);
      if (write === writeJsonl) expect((reader.stepSpec as unknown as { observation: { task: unknown } }).observation.task).toEqual(text({ maxBytes: 3 }));
    }
    const longer = [told(["long", "b"])] as unknown as RldsDataset;
    const error = (await thrown(() => pushRldsToReverb(longer, observer))) as RldsError;
    expect([error.code, error.episode, error.step, error.message]).toEqual([
      "INVALID_DATA",
      0,
      0,
      expect.stringMatching(/^observation\.task must .*got 4 bytes/),
    ]);
  });

  it("keeps the dtype of leaves that policyInfoFn selects, and infers it for computed values", async () => {
    const steps = episode(3).steps.map((step, i) => ({ ...step, index: BigInt(i) }));
    const withMore = Object.assign([{ steps }], { stepSpec: { ...stepSpec, index: i64() } }) as unknown as RldsDataset;
    const { policyInfo } = await createTrajectoryDataSpec(withMore, (step, next) => ({
      index: step.index,
      both: { reward: next.reward, action: step.action },
      twice: (step.reward as number) * 2,
      three: Float64Array.of(1, 2, 3),
    }));
    expect(policyInfo).toEqual({ index: i64(), both: { reward: f32(), action: i32() }, twice: f32(), three: f64(3) });
  });

  it.each([
    ["no episodes", [], "EMPTY"],
    ["episodes without a step", [{ steps: [] }], "EMPTY"],
    ["an episode without steps to go through", [{ steps: 3 }], "SPEC_MISMATCH"],
    ["a step without a discount", [{ steps: [{ ...episode(1).steps[0], discount: undefined }] }], "SPEC_MISMATCH"],
    ["text to be seen", [{ steps: [{ ...episode(1).steps[0], observation: "a wall" }] }], "UNSUPPORTED"],
  ])("rejects %s", async (_, episodes, code) => {
    const error = await thrown(() => createTrajectoryDataSpec(episodes as unknown as RldsDataset));
    expect(error).toBeInstanceOf(RldsError);
    expect(error.code).toBe(code);
  });
});

describe("convertRldsToTrajectories", () => {
  it("sync and async iterables return the same trajectories", async () => {
    const later = rldsDataset(
      async function* () {
        for (const { steps } of [episode(3), episode(2, { terminal: true })]) {
          yield {
            steps: (async function* () {
              yield* steps;
            })(),
          };
        }
      },
      { stepSpec },
    );
    const trajectories = await all(convertRldsToTrajectories(later));
    expect(trajectories).toEqual(await all(convertRldsToTrajectories(dataset(episode(3), episode(2, { terminal: true })))));
    expect(trajectories.map(({ stepType, nextStepType, discount }) => [stepType, nextStepType, discount])).toEqual([
      [0, 1, 1],
      [1, 2, 1],
      [2, 0, 1],
      [0, 2, 1],
      [2, 0, 0],
    ]);
  });

  it("closes the data after an early break", async () => {
    const closed: string[] = [];
    const data = (async function* () {
      try {
        yield {
          steps: (function* () {
            try {
              yield* episode(5).steps;
            } finally {
              closed.push("steps");
            }
          })(),
        };
      } finally {
        closed.push("episodes");
      }
    })();
    for await (const _ of convertRldsToTrajectories(data)) break;
    expect(closed).toEqual(["steps", "episodes"]);
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 4],
    [5, 3],
  ])("windows of %i, every %i, equal the items of the trajectory observer", async (sequenceLength, strideLength) => {
    const rlds = dataset(episode(6), episode(1, { from: 10 }), episode(4, { from: 20, terminal: true }), episode(9, { from: 30 }));
    const replay = await table(rlds);
    await pushRldsToReverb(rlds, new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength, strideLength }));
    const windows = await all(convertRldsToTrajectories(rlds, undefined, { sequenceLength, strideLength }));
    const seen = windows.map((window) => {
      const { data, shape } = window.observation as { data: Float32Array; shape: number[] };
      expect(shape).toEqual([sequenceLength, 2]);
      return [...data].filter((_, i) => i % 2 === 0);
    });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen).toEqual(items(replay));
  });

  it("rejects invalid options", () => {
    expect(() => convertRldsToTrajectories(dataset(), undefined, { sequenceLength: 0 })).toThrow(RangeError);
    expect(() => convertRldsToTrajectories(dataset(), undefined, { sequenceLength: 2, strideLength: 1.5 })).toThrow(/^strideLength must be/);
    expect(() => convertRldsToTrajectories(dataset(), 3 as never)).toThrow("policyInfoFn must be a function");
  });
});

describe("pushRldsToReverb", () => {
  it("pushes a dataset that can be iterated only once", async () => {
    const replay = await table(dataset(episode(1)));
    const observer = new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 2 });
    const once = (function* () {
      yield* [episode(3), episode(4, { from: 10 })].map(({ steps }) => ({
        steps: steps.map((step) => ({ ...step, action: Int32Array.of(step.action as number) })),
      }));
    })();
    // An array with one element is not a single number, so the spec differs.
    expect((await thrown(() => pushRldsToReverb(once, observer))).message).toContain(
      "action is i32 of shape [any] in the tables, but i32 of shape [1] in the data",
    );
    expect(
      await pushRldsToReverb(
        Object.assign(
          (function* () {
            yield* [episode(3), episode(4, { from: 10 })];
          })(),
          { stepSpec },
        ),
        observer,
      ),
    ).toBe(7);
    expect(items(replay)).toEqual([
      [0, 1],
      [1, 2],
      [10, 11],
      [11, 12],
      [12, 13],
    ]);
  });

  it("pushes whole episodes through the episode observer", async () => {
    const rlds = dataset(episode(3), episode(1, { from: 10 }), episode(5, { from: 20 }));
    const replay = await table(rlds);
    const progress: number[] = [];
    const observer = new ReverbAddEpisodeObserver(replay, { tableName: "t", maxSequenceLength: 8 });
    expect(await pushRldsToReverb(rlds, observer, undefined, { onProgress: (pushed) => progress.push(pushed) })).toBe(9);
    expect(progress).toEqual([3, 4, 9]);
    expect(items(replay)).toEqual([[0, 1, 2], [10], [20, 21, 22, 23, 24]]);
  });

  it("compares the signature from a server before anything is pushed", async () => {
    const rlds = dataset(episode(3));
    const spec: Spec = await createTrajectoryDataSpec(rlds);
    const calls: unknown[] = [];
    const observerOf = (signature: Signature) => Object.assign((step: unknown) => void calls.push(step), { getTableSignature: async () => signature });
    const other = { ...(signatureOf(spec) as { [name: string]: Signature }), reward: { dtype: "f64", shape: [null] } as Signature };
    const error = await thrown(() => pushRldsToReverb(rlds, observerOf(other)));
    expect([error.code, error.pushed, calls.length]).toEqual(["SPEC_MISMATCH", 0, 0]);
    expect(error.message).toContain("reward is f64 of shape [any] in the tables, but f32 of shape [] in the data");
    expect(await pushRldsToReverb(rlds, observerOf(signatureOf(spec)))).toBe(3);
    // The observer also accepts a table with a fixed time dimension.
    const fixed = JSON.parse(JSON.stringify(signatureOf(spec)), (key, value) => (key === "shape" ? [2, ...(value as Leaf["shape"]).slice(1)] : value));
    expect(await pushRldsToReverb(rlds, observerOf(fixed))).toBe(3);
  });

  it("calls policyInfoFn once per step, and only with real steps", async () => {
    const seen: unknown[] = [];
    const rlds = dataset(episode(3));
    const info = (step: RldsStep, next: RldsStep) => {
      seen.push([step.reward, next.is_first]);
      return { reward: step.reward };
    };
    const rewards = episode(3).steps.map(({ reward }) => reward);
    const each = rewards.map((reward, i) => [reward, i === 2]);
    const spec: Spec = await createTrajectoryDataSpec(rlds, info);
    expect(seen.splice(0)).toEqual(each.slice(0, 1));
    const client = LocalClient.of({ spec, tables: [{ name: "t", maxSize: 10 }] });
    await pushRldsToReverb(rlds, new ReverbAddTrajectoryObserver(client, { tableName: "t", sequenceLength: 2 }), info);
    expect(seen).toEqual(each);
  });

  it("rejects a table with policyInfo that the data do not have", async () => {
    const rlds = dataset(episode(3));
    const spec: Spec = await createTrajectoryDataSpec(rlds, (step) => ({ action: step.action }));
    const client = LocalClient.of({ spec, tables: [{ name: "t", maxSize: 10 }] });
    const observer = new ReverbAddTrajectoryObserver(client, { tableName: "t", sequenceLength: 2 });
    expect((await thrown(() => pushRldsToReverb(rlds, observer))).message).toContain(
      "policyInfo.action is i32 of shape [any] in the tables, but missing in the data",
    );
    expect(await pushRldsToReverb(rlds, observer, (step) => ({ action: step.action }))).toBe(3);
    expect([
      ...(client.replay.table("t").sample(1, { among: 1 }).steps as never as { policyInfo: { action: { data: Int32Array } } }).policyInfo.action.data,
    ]).toEqual([0, 1]);
  });

  it.each([
    ["ends wrongly", [episode(3), { steps: episode(4).steps.slice(0, 3) }], { episode: 1, step: 2, pushed: 5 }],
    ["ends wrongly before another", [{ steps: episode(4).steps.slice(0, 3) }, episode(3)], { episode: 0, step: 2, pushed: 2 }],
    ["goes on in the next episode", [{ steps: episode(4).steps.slice(0, 2) }, { steps: episode(4).steps.slice(2) }], { episode: 0, step: 1, pushed: 1 }],
    [
      "terminates wrongly",
      [episode(2), { steps: episode(3).steps.map((step) => ({ ...step, is_terminal: !step.is_last })) }],
      { episode: 1, step: 0, pushed: 2 },
    ],
    ["begins wrongly", [episode(2), { steps: episode(4).steps.slice(1) }], { episode: 1, step: 0, pushed: 1 }],
    ["begins the data wrongly", [{ steps: episode(4).steps.slice(1) }], { episode: 0, step: 0, pushed: 0 }],
  ])("an error reports where an episode %s, and how many trajectories came before", async (_, episodes, place) => {
    const rlds = dataset(...episodes);
    let calls = 0;
    const error = await thrown(() => pushRldsToReverb(rlds, () => void calls++));
    expect(error).toBeInstanceOf(RldsError);
    expect(error).toMatchObject({ code: "INVALID_DATA", ...place });
    expect(calls).toBe(place.pushed);
    expect(error.message).toContain(`(episode ${place.episode}, step ${place.step}; ${place.pushed} traject`);
  });

  it("an error reports how many trajectories came before a rejected step", async () => {
    const rlds = dataset({ steps: episode(4).steps.map((step, i) => (i === 2 ? { ...step, observation: [1] } : step)) });
    const replay = await table(rlds);
    const error = await thrown(() => pushRldsToReverb(rlds, new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 2 })));
    expect(error).toMatchObject({ code: "SPEC_MISMATCH", pushed: 2 });
    expect(items(replay)).toEqual([[0, 1]]);
  });

  it("awaits the observer, and stops when the signal aborts", async () => {
    const stop = new AbortController();
    let calls = 0;
    const slow = async () => {
      await null;
      if (++calls === 5) stop.abort(new Error("enough"));
    };
    expect((await thrown(() => pushRldsToReverb(dataset(episode(20)), slow, undefined, { signal: stop.signal }))).message).toBe("enough");
    expect(calls).toBe(5);
  });

  it("rejects a value that is not an observer", async () => {
    expect((await thrown(() => pushRldsToReverb(dataset(episode(2)), {} as never))).message).toContain("observer must be an observer of reprise/agents");
  });
});
