import { describe, expect, it } from "vitest";
import {
  batch,
  convertRldsToTrajectories,
  createTrajectoryDataSpec,
  filterEpisodes,
  importRlds,
  inspectRlds,
  nStep,
  pushRldsToReverb,
  type RldsDataset,
  type RldsStep,
  rldsDataset,
  shiftKeys,
  statistics,
} from "../../../../src/datasets/rlds/index.ts";
import { fifo, Replay, type Spec, u8 } from "../../../../src/index.ts";
import { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver } from "../../../../src/tf-agents/index.ts";

type Own = (i: number) => Partial<RldsStep>;

function* steps(length: number, own: Own = () => ({})): Generator<RldsStep> {
  for (let i = 0; i < length; i++)
    yield {
      ...{ observation: Float32Array.of(i, -i), action: i % 3, reward: i / 2, discount: 1 },
      ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: false, ...own(i) },
    };
}

const dataset = (...lengths: (readonly [number, Own?])[]): RldsDataset => lengths.map(([length, own]) => ({ steps: [...steps(length, own)] }));

async function all<T>(each: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of each) values.push(value);
  return values;
}

async function table(rlds: RldsDataset): Promise<Replay> {
  const spec: Spec = await createTrajectoryDataSpec(rlds);
  return new Replay<Spec, string>({ spec, tables: { t: { maxSize: 100, sampler: fifo(), maxTimesSampled: 1 } } }) as unknown as Replay;
}

const pairs = { sequenceLength: 2 };

describe("a producer that reuses its array", () => {
  const firsts = async (rlds: RldsDataset<never>, field = "observation") => {
    const found: unknown[] = [];
    for await (const episode of rlds as AsyncIterable<{ steps: Iterable<Record<string, Float32Array>> }>)
      for await (const step of episode.steps) found.push(step[field]?.[0]);
    return found;
  };
  const again = (make = (array: Float32Array) => array) => {
    const array = new Float32Array(2);
    return rldsDataset(() => [
      {
        steps: (function* () {
          for (const step of steps(4)) {
            array.set(step.observation as Float32Array);
            yield { ...step, observation: make(array) };
          }
        })(),
      },
    ]) as RldsDataset;
  };

  it("windows have the right values", async () => {
    const windows = await all(convertRldsToTrajectories(again(), undefined, pairs));
    expect(windows.map(({ observation }) => [...(observation as { data: Float32Array }).data])).toEqual([
      [0, -0, 1, -1],
      [1, -1, 2, -2],
      [2, -2, 3, -3],
    ]);
  });

  it("tables have the right values", async () => {
    const replay = await table(again());
    await pushRldsToReverb(again(), new ReverbAddTrajectoryObserver(replay, { tableName: "t", ...pairs }));
    const { steps } = (replay as unknown as Replay<Spec, string>).table("t").sample(1);
    expect([...(steps as unknown as { observation: { data: Float32Array } }).observation.data]).toEqual([0, -0, 1, -1]);
  });

  it.each([
    ["importRlds", () => importRlds(again()), [0, 1, 2, 3]],
    ["filterEpisodes", () => filterEpisodes(again(), ({ steps }) => [...(steps as Iterable<RldsStep>)].length === 4), [0, 1, 2, 3]],
    ["nStep", () => nStep(again(), { n: 1, gamma: 1 }), [0, 1, 2]],
    ["shiftKeys", () => shiftKeys(again(), ["is_last"], 1), [0, 1, 2]],
  ] as const)("%s returns the right values", async (_, make, expected) => {
    expect(await firsts(make() as never)).toEqual(expected);
  });

  it("batch returns the right values", async () => {
    const [episode] = await all(batch(again(), { size: 4 }) as AsyncIterable<{ steps: Iterable<{ observation: { data: Float32Array } }> }>);
    expect([...(episode as NonNullable<typeof episode>).steps].map(({ observation }) => [...observation.data])).toEqual([[0, -0, 1, -1, 2, -2, 3, -3]]);
  });

  it("trajectories copy a reused Buffer", async () => {
    const bytes = Buffer.alloc(2);
    const rlds = rldsDataset(() => [
      {
        steps: (function* () {
          for (const step of steps(3)) {
            bytes.fill(step.action as number);
            yield { ...step, observation: bytes };
          }
        })(),
      },
    ]) as RldsDataset;
    const trajectories = await all(convertRldsToTrajectories(rlds));
    expect(trajectories.map(({ observation }) => (observation as Uint8Array)[0])).toEqual([0, 1, 2]);
  });
});

describe("errors name their place", () => {
  const wrong: Own = (i) => (i === 2 ? { observation: Float32Array.of(1, 2, 3) } : {});
  const place = { name: "RldsError", code: "SPEC_MISMATCH", episode: 1, step: 2, pushed: 4 };

  it("for a step that does not fit into the table", async () => {
    const rlds = dataset([2], [5, wrong]);
    const observer = new ReverbAddTrajectoryObserver(await table(rlds), { tableName: "t", ...pairs });
    await expect(pushRldsToReverb(rlds, observer)).rejects.toMatchObject(place);
  });

  it("for a step of another shape, in windows", async () => {
    await expect(all(convertRldsToTrajectories(dataset([2], [5, wrong]), undefined, pairs))).rejects.toMatchObject(place);
  });

  it("for an episode that is too long", async () => {
    const rlds = dataset([2], [5]);
    const observer = new ReverbAddEpisodeObserver(await table(rlds), { tableName: "t", maxSequenceLength: 3 });
    const push = pushRldsToReverb(rlds, observer);
    await expect(push).rejects.toMatchObject({ name: "RangeError", episode: 1, step: 3, pushed: 5 });
    await expect(push).rejects.toThrow("(episode 1, step 3; 5 trajectories came before it)");
  });

  it("for a first step without a possible spec", async () => {
    await expect(all(convertRldsToTrajectories(dataset([2, () => ({ extra: null })])))).rejects.toMatchObject({ code: "SPEC_MISMATCH", episode: 0, step: 0 });
  });
});

describe("convertRldsToTrajectories", () => {
  const spec = async (action: Spec, own: Own) => {
    const { stepSpec } = { stepSpec: { ...((await firstSpec()) as object), action } };
    return all(convertRldsToTrajectories(Object.assign(dataset([3, own]), { stepSpec }) as RldsDataset, undefined, pairs));
  };
  const firstSpec = async () => {
    const { stepSpecOf } = await import("../../../../src/datasets/rlds/index.ts");
    return stepSpecOf([...steps(1)][0]);
  };

  it("rejects numbers out of range for the dtype", async () => {
    await expect(spec(u8(), (i) => ({ action: i * 300 }))).rejects.toMatchObject({ code: "SPEC_MISMATCH", step: 1 });
  });

  it("accepts whole numbers for i64", async () => {
    const [window] = await spec({ dtype: "i64", shape: [] }, (i) => ({ action: i }));
    expect(window?.action).toEqual({ data: BigInt64Array.of(0n, 1n), shape: [2] });
  });

  it("accepts values with an explicit shape", async () => {
    const observation = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] };
    const [window] = await all(convertRldsToTrajectories(dataset([2, () => ({ observation })]), undefined, pairs));
    expect(window?.observation).toEqual({ data: Float32Array.of(1, 2, 3, 4, 1, 2, 3, 4), shape: [2, 2, 2] });
  });
});

describe("the conversion of flags, discounts and policy infos", () => {
  it.each([[[true]], [Uint8Array.of(1)], [1n], [{ data: Uint8Array.of(1), shape: [] }]])("accepts flag %#", async (flag) => {
    const found = await all(convertRldsToTrajectories(dataset([2, (i) => (i === 1 ? { is_last: flag } : {})])));
    expect(found.map(({ stepType }) => stepType)).toEqual([0, 2]);
  });

  it.each(["", "0", 2, new Date(0)])("rejects flag %#", async (flag) => {
    const convert = all(convertRldsToTrajectories(dataset([3, (i) => (i === 1 ? { is_terminal: flag } : {})])));
    await expect(convert).rejects.toMatchObject({ code: "SPEC_MISMATCH", step: 1 });
  });

  it.each([[[0.5]], [Float64Array.of(0.5)], [{ data: Float32Array.of(0.5), shape: [] }]])("accepts discount %#", async (discount) => {
    const [first] = await all(convertRldsToTrajectories(dataset([2, () => ({ discount })])));
    expect(first?.discount).toBe(0.5);
  });

  it("rejects an async policyInfoFn", async () => {
    const later = async (step: RldsStep) => step.action;
    await expect(createTrajectoryDataSpec(dataset([2]), later)).rejects.toMatchObject({ code: "SPEC_MISMATCH" });
    await expect(pushRldsToReverb(dataset([2]), () => {}, later)).rejects.toThrow("must not be async");
  });

  it("accepts a policyInfoFn that returns an empty list", async () => {
    expect(await createTrajectoryDataSpec(dataset([2]), () => [])).toMatchObject({ policyInfo: [] });
  });
});

describe("every function", () => {
  it.each([null, 5, { steps: [...steps(2)] }])("rejects dataset %#", async (rlds) => {
    await expect(createTrajectoryDataSpec(rlds as never)).rejects.toThrow("rlds must be an iterable");
    await expect(pushRldsToReverb(rlds as never, () => {})).rejects.toThrow("rlds must be an iterable");
    await expect(inspectRlds(rlds as never)).rejects.toThrow("rlds must be an iterable");
    await expect(statistics(rlds as never)).rejects.toThrow("rlds must be an iterable");
  });

  it("reads nothing if the signal is already aborted or invalid", async () => {
    let read = 0;
    const rlds = rldsDataset(() => {
      read++;
      return dataset([2]);
    });
    await expect(pushRldsToReverb(rlds as RldsDataset, () => {}, undefined, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    await expect(pushRldsToReverb(rlds as RldsDataset, () => {}, undefined, { signal: 5 as never })).rejects.toThrow(/signal must be/);
    expect(read).toBe(0);
  });

  it("the error omits the undefined field from the list of keys", async () => {
    await expect(all(convertRldsToTrajectories(dataset([2, () => ({ discount: undefined })])))).rejects.toThrow("got observation, action, reward, is_first");
  });
});
