/** Tests JSON lines: round trips of the Reprise format, and files of other programs. */
import { describe, expect, it } from "vitest";
import { type JsonlOptions, openJsonl } from "../../../../../src/datasets/formats/jsonl/open-jsonl.ts";
import { writeJsonl } from "../../../../../src/datasets/formats/jsonl/write.ts";
import { openMinari } from "../../../../../src/datasets/formats/minari/open-minari.ts";
import type { ReadEpisode } from "../../../../../src/datasets/formats/reader.ts";
import { memorySink } from "../../../../../src/datasets/formats/sinks/sink.ts";
import { rldsDataset } from "../../../../../src/datasets/model/dataset.ts";
import { all, columnsTold } from "../../../../support/columns.ts";
import { dataFolder } from "../../rlds/data.ts";

const lines = (...values: readonly unknown[]) => new Blob([values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join("\n")]);
const read = async (values: readonly unknown[], options?: JsonlOptions) => all(await openJsonl(lines(...values), options));
const flags = (episodes: readonly ReadEpisode[]) =>
  episodes.map(({ steps }) => {
    const { is_last, is_terminal, discount } = steps.at(steps.length - 1);
    return [steps.length, is_last, is_terminal, discount];
  });

describe("the Reprise format", () => {
  it("returns the written values of any dtype", async () => {
    const scalar = <D extends string>(dtype: D) => ({ dtype, shape: [] });
    const stepSpec = {
      observation: { a: { dtype: "f32", shape: [2, 2] }, b: [scalar("f64"), scalar("i64")], said: scalar("string"), raw: { dtype: "bytes", shape: [2] } },
      action: scalar("u8"),
      reward: scalar("f64"),
      discount: scalar("f32"),
      is_first: scalar("bool"),
      is_last: scalar("bool"),
      is_terminal: scalar("bool"),
    } as const;
    const step = (i: number) => ({
      observation: {
        a: Float32Array.of(i, Number.NaN, -0, Number.NEGATIVE_INFINITY),
        b: [0.1 + i, 2n ** 62n + BigInt(i)],
        said: `é "${i}"\n\u2028`,
        raw: [Uint8Array.of(0, 255, i), new Uint8Array(0)],
      },
      action: i,
      reward: i === 1 ? Number.POSITIVE_INFINITY : i / 3,
      discount: 1,
      is_first: i === 0,
      is_last: i === 2,
      is_terminal: i === 2,
    });
    const metadataSpec = { id: scalar("i64"), name: scalar("string") } as const;
    const given = rldsDataset(
      () => [
        { id: 2n ** 60n, name: "one", steps: [0, 1, 2].map(step) },
        { id: 2n, name: "", steps: [] },
      ],
      { stepSpec, metadataSpec },
    );
    const files = memorySink();
    await writeJsonl(given, files);
    const reader = await openJsonl(new Blob([...files.values()] as Uint8Array<ArrayBuffer>[]));
    expect(reader).toMatchObject({ format: "jsonl", stepSpec, metadataSpec });
    for (let time = 0; time < 2; time++) {
      const episodes = await all(reader);
      expect(episodes.map(({ id, name, steps }) => [id, name, steps.length])).toEqual([
        [2n ** 60n, "one", 3],
        [2n, "", 0],
      ]);
      expect([...(episodes[0] as ReadEpisode).steps]).toEqual([0, 1, 2].map(step));
    }
    await reader.close();
  });

  it("keeps every bit of a Minari dataset", async () => {
    const minari = await openMinari(dataFolder("minari/cartpole/scripted-v0"));
    const files = memorySink();
    await writeJsonl(minari, files);
    const reader = await openJsonl(new Blob([...files.values()] as Uint8Array<ArrayBuffer>[]));
    const [before, after] = [await all(minari), await all(reader)];
    expect(columnsTold(after)).toEqual(columnsTold(before));
    expect(after.map(({ steps, ...rest }) => [steps.length, rest])).toEqual(before.map(({ steps, ...rest }) => [steps.length, rest]));
    await minari.close();
  });

  it("names file, byte offset and line in errors", async () => {
    const head = { rlds: 1, stepSpec: { observation: { dtype: "f32", shape: [2] } }, metadataSpec: {} };
    const episode = { episode: {} };
    const begin = `${JSON.stringify(head)}\n`.length;
    const cases: [unknown[], object][] = [
      [[head, "{]"], { code: "CORRUPT", offset: begin, message: expect.stringMatching(/^line 2 is not JSON/) }],
      [[head, { step: {} }], { code: "CORRUPT", message: expect.stringMatching(/^line 2 must be an episode, got a step before the first episode/) }],
      [[head, episode, { step: { observation: [1] } }], { code: "SPEC_MISMATCH", episode: 0, step: 0, offset: begin + 15 }],
      [[head, episode, { other: 1 }], { code: "CORRUPT" }],
      [[{ rlds: 2 }], { code: "CORRUPT" }],
      [[{ rlds: 1, stepSpec: { a: { dtype: "f32", shape: [2 ** 30, 2 ** 30] } } }], { code: "CORRUPT" }],
      [[{ rlds: 1, stepSpec: { a: { dtype: "f32", shape: [2 ** 30] } } }, episode, { step: { a: [] } }], { code: "CORRUPT" }],
    ];
    for (const [values, error] of cases) await expect(read(values)).rejects.toMatchObject({ name: "RldsError", file: "a Blob", ...error });
  });
});

describe("one step per line", () => {
  const transition = (i: number, more: object) => ({ obs: [i, i / 2], action: i % 2, reward: 1, info: { t: i }, ...more });

  it("discounts of transitions are kept", async () => {
    const values = [0, 1, 2].map((i) => transition(i, { terminated: i === 2, discount: 0.25 * (i + 1) }));
    const [episode] = await read(values);
    expect([...(episode?.steps ?? [])].map((step) => step.discount)).toEqual([0.25, 0.5, 0.75, 0]);
  });

  it("episodes of transitions end at terminated or truncated, and the last episode stays open", async () => {
    const values = [0, 1, 2, 3, 4, 5].map((i) => transition(i, { terminated: i === 1, truncated: i === 4 }));
    const reader = await openJsonl(lines(...values));
    expect(reader.stepSpec).toMatchObject({
      observation: { dtype: "f32", shape: [2] },
      action: { dtype: "i32", shape: [] },
      info: { t: { dtype: "i32", shape: [] } },
    });
    const episodes = await all(reader);
    expect(flags(episodes)).toEqual([
      [3, true, true, 0],
      [3, true, false, 1],
      [1, false, false, 1],
    ]);
    expect(episodes[0]?.steps.at(1)).toMatchObject({ discount: 0, reward: 1, observation: Float32Array.of(1, 0.5) });
    expect(flags(await read(values, { finalObservation: "none" }))).toEqual([
      [2, true, true, 0],
      [3, true, false, 1],
      [1, false, false, 1],
    ]);
  });

  it("the last next observation becomes the final step", async () => {
    const values = [0, 1, 2].map((i) => transition(i, { nextObs: [i + 1, 9], done: i === 1 }));
    const episodes = await read(values);
    expect(flags(episodes)).toEqual([
      [3, true, true, 0],
      [1, false, false, 1],
    ]);
    expect(episodes[0]?.steps.at(2).observation).toEqual(Float32Array.of(2, 9));
  });

  it("episode_id separates episodes", async () => {
    const values = [0, 0, 7, 7, 7].map((episode_id, i) => transition(i, { episode_id }));
    expect(flags(await read(values))).toEqual([
      [2, true, false, 1],
      [3, true, false, 1],
    ]);
  });

  it("RLDS steps are read unchanged", async () => {
    const values = [0, 1, 2, 3].map((i) => transition(i, { is_first: i % 2 === 0, isLast: i === 1, is_terminal: i === 1, discount: 0.5 }));
    const episodes = await read(values);
    expect(flags(episodes)).toEqual([
      [2, true, true, 0.5],
      [2, false, false, 0.5],
    ]);
  });

  it("stepSpec sets dtypes, and NaN, byte order marks and blank lines are accepted", async () => {
    const text =
      '\ufeff{"obs": NaN, "action": 3, "reward": -Infinity, "done": false, "said": "NaN is text"}\r\n\n{"obs": 1, "action": 4, "reward": 0, "done": true, "said": ""}\n';
    const reader = await openJsonl(new Blob([text]), { stepSpec: { action: { dtype: "i64", shape: [] } } });
    const [episode] = (await all(reader)) as [ReadEpisode];
    expect([...episode.steps].slice(0, 2)).toMatchObject([
      { observation: Number.NaN, action: 3n, reward: Number.NEGATIVE_INFINITY, said: "NaN is text" },
      { observation: 1, action: 4n, reward: 0, said: "" },
    ]);
  });

  it("lines unlike the first one, incomplete steps and empty files are rejected", async () => {
    const bad: [object, object][] = [
      [{ obs: [1] }, { code: "SPEC_MISMATCH", step: 1 }],
      [{ action: "left" }, { code: "SPEC_MISMATCH" }],
      [{ obs: { more: 1 } }, { code: "SPEC_MISMATCH" }],
      [{ done: "yes" }, { code: "SPEC_MISMATCH" }],
      [{ observation: [1, 2] }, { code: "CORRUPT" }],
    ];
    for (const [more, error] of bad)
      await expect(read([transition(0, { done: false }), transition(1, { done: false, ...more })])).rejects.toMatchObject({ file: "a Blob", ...error });
    await expect(read([{ obs: null, action: 1, reward: 0 }])).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("stepSpec") });
    await expect(read([{ obs: 1, reward: 0 }])).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("no field for action") });
    await expect(read([])).rejects.toMatchObject({ code: "EMPTY" });
    await expect(read([3])).rejects.toMatchObject({ code: "CORRUPT" });
  });

  it("lines and episodes larger than maxBytes are rejected", async () => {
    const values = [0, 1, 2].map((i) => transition(i, { done: false }));
    await expect(read(values, { maxBytes: 150 })).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringContaining("maxBytes") });
    await expect(openJsonl(lines("x".repeat(10_000)), { maxBytes: 100 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("line 1 is longer"),
    });
  });
});

it("an episode per line has metadata", async () => {
  const step = (i: number, more: object = {}) => ({ observation: i, action: 0, reward: 2, ...more });
  const reader = await openJsonl(lines({ id: 2 ** 40, task: "a", steps: [step(0), step(1)] }, { id: 1, task: "b", steps: [step(5)] }));
  expect(reader.metadataSpec).toEqual({ id: { dtype: "i64", shape: [] }, task: { dtype: "string", shape: [] }, final_step: { dtype: "string", shape: [] } });
  const episodes = await all(reader);
  expect(episodes.map(({ id, task }) => [id, task])).toEqual([
    [2n ** 40n, "a"],
    [1n, "b"],
  ]);
  expect(flags(episodes)).toEqual([
    [2, true, false, 1],
    [1, true, false, 1],
  ]);
  await expect(read([{ steps: [step(0, { done: false })] }, { steps: [step(0, { done: true }), step(1, { done: false })] }])).rejects.toMatchObject({
    code: "INVALID_DATA",
  });
});
