/** Tests files of Dreamer: each contains one episode, and its rows have the action and the reward that led to them. */
import { describe, expect, it } from "vitest";
import { type NpzOptions, openNpz } from "../../../../../src/datasets/formats/npz/open-npz.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { all } from "../../../../support/columns.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";
import { archive, npyHeader, storedArchive } from "./npz-archive.ts";

const FOLDER = dataFolder("dreamer");
const NAMES = [
  "20260110T000000-00000000000000000000000000000000-5.npz",
  "20260111T000000-00000000000000000000000000000001-3.npz",
  "20260112T000000-00000000000000000000000000000002-4.npz",
];

describe("a folder", () => {
  it("has one episode per file, in the order of their times", async () => {
    const reader = (await openRlds(FOLDER)) as RldsReader;
    expect([reader.format, reader.name]).toEqual(["npz", "dreamer"]);
    expect(reader.stepSpec).toMatchObject({
      observation: { image: { dtype: "u8", shape: [4, 4, 3] }, position: { dtype: "f32", shape: [2] } },
      action: { dtype: "f32", shape: [2] },
      reset: { dtype: "bool", shape: [] },
      log_steps: { dtype: "i32", shape: [] },
    });
    const episodes = await all(reader);
    expect(
      episodes.map(({ steps, final_step }) => [steps.length, final_step, steps.at(steps.length - 1).is_last, steps.at(steps.length - 1).is_terminal]),
    ).toEqual([
      [6, "observation", true, true],
      [4, "observation", true, false],
      [5, "observation", true, false],
    ]);
    for (const [number, { steps }] of episodes.entries())
      for (const [t, { observation, action, reward, discount, is_first }] of [...steps].entries()) {
        const isFinal = t === steps.length - 1;
        // Row t + 1 of the file contains the action taken at t.
        expect([observation.image[0], observation.position[0], [...action], reward, is_first]).toEqual([
          t + 100 * number,
          t,
          isFinal ? [0, 0] : [t + 1 + 10 * number, -1],
          isFinal ? 0 : (t + 1) / 2,
          t === 0,
        ]);
        expect(discount).toBe(isFinal || (number === 0 && t === 4) ? 0 : 1);
      }
    await reader.close();
  });

  it("skips a damaged file with salvage, and rejects files that differ", async () => {
    const files = new Map(NAMES.map((name) => [name, fileBytes(`${FOLDER}/${name}`)]));
    const cut = new Map(files).set(NAMES[0] as string, (files.get(NAMES[0] as string) as Uint8Array<ArrayBuffer>).slice(0, 300));
    await expect(openNpz(cut)).rejects.toMatchObject({ code: "CORRUPT", file: NAMES[0] });
    const reader = (await openNpz(cut, { salvage: true })) as RldsReader;
    expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([4, 5]);
    expect(reader.losses).toMatchObject([{ code: "CORRUPT", file: NAMES[0] }]);
    const other = new Map(files).set("20260113-x.npz", fileBytes(dataFolder("extra/npz/recorded.npz")));
    await expect(openNpz(other)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/20260113-x\.npz differs from .*\. Pass one of the files/),
    });
    const later = new Map([...files, ...NAMES.map((name) => [name.replace("2026", "2027"), files.get(name)] as const), ...other]) as typeof files;
    await expect(all(await openNpz(new Map([...later].map(([name, bytes]) => [name.replace("20260113", "20280101"), bytes]))))).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      file: "20280101-x.npz",
    });
    await expect(openNpz(new Map([["a.txt", new Uint8Array(1)]]))).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });
});

describe("a file", () => {
  const spec = async (options: NpzOptions) => {
    const reader = (await openNpz(`${FOLDER}/${NAMES[0]}`, options)) as RldsReader;
    const [episode] = await all(reader);
    await reader.close();
    return { spec: reader.stepSpec as { readonly [name: string]: unknown }, actions: Array.from(episode?.steps ?? [], ({ action }) => action[0]) };
  };

  it("supports a selection of columns, and assigns actions to the steps that took them", async () => {
    const moved = [1, 2, 3, 4, 5, 0];
    for (const [options, observation] of [
      [{}, ["image", "position"]],
      [{ without: ["image"] }, ["position"]],
      [{ only: ["observation/image"] }, ["image"]],
      [{ rename: { image: "observation/pixels" } }, ["pixels", "position"]],
    ] as [NpzOptions, string[]][]) {
      const told = await spec(options);
      expect(Object.keys(told.spec.observation as object).sort()).toEqual(observation);
      expect(told.actions).toEqual(moved);
    }
  });

  it("of version 3 assigns actions to the steps that took them, for any selection of columns", async () => {
    const flag = (step: number) => [Uint8Array.of(0, 1, 2).map((i) => Number(i === step)), [3]] as const;
    const bytes = storedArchive({
      image: [Float32Array.of(5, 6, 7), [3]],
      action: [Float32Array.of(0, 1, 2), [3]],
      reward: [Float32Array.of(0, 10, 20), [3]],
      stepid: [Int32Array.of(4, 5, 6), [3]],
      ...{ is_first: flag(0), is_last: flag(2), is_terminal: flag(2) },
    });
    for (const options of [{}, { only: ["image"] }, { without: ["stepid"] }, { rename: { stepid: "number" } }]) {
      const reader = (await openNpz(new Blob([bytes]), options)) as RldsReader;
      const [episode] = await all(reader);
      await reader.close();
      expect(Array.from(episode?.steps ?? [], ({ action, reward }) => [action, reward]).slice(0, 2)).toEqual([
        [0, 10],
        [1, 20],
      ]);
    }
  });

  it("with an action in its first row keeps every action in its row", async () => {
    const flags = (name: string) => ({ name: `${name}.npy`, header: npyHeader("|b1", "(3,)"), elements: 3 });
    const column = (name: string, byte: number) => ({ name: `${name}.npy`, header: npyHeader("|u1", "(3,)"), elements: 3, byte });
    const bytes = archive(column("image", 0), column("reward", 1), column("action", 1), ...["is_first", "is_last", "is_terminal"].map(flags));
    const reader = (await openNpz(new Blob([bytes]))) as RldsReader;
    const [episode] = await all(reader);
    // A last row without an end flag is also the last observation.
    expect([episode?.steps.length, episode?.final_step]).toEqual([3, "observation"]);
    expect(Array.from(episode?.steps ?? [], ({ action, reward }) => [action, reward])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
    await reader.close();
  });
});
