/** Compares D4RL files with the results of h5py and of the RLDS importer. */
import { describe, expect, it } from "vitest";
import { openD4rl } from "../../../../../src/datasets/formats/hdf5/d4rl.ts";
import type { ReadEpisode } from "../../../../../src/datasets/formats/reader.ts";
import { all, allOf, columnsTold } from "../../../../support/columns.ts";
import { dataFolder, json } from "../../rlds/data.ts";

const extra = (name: string) => dataFolder(`extra/d4rl/${name}.hdf5`);

/** Returns the number of steps and the kind of the last step for each episode. */
const ends = (episodes: readonly ReadEpisode[]) =>
  episodes.map(({ steps }) => {
    const { is_last, is_terminal, discount } = steps.at(steps.length - 1);
    return [steps.length, is_last, is_terminal, discount];
  });

describe("HalfCheetah", () => {
  it("has the written columns, and 16 truncated episodes", async () => {
    const { d4rl } = json("expected_hdf5.json");
    const reader = await openD4rl(dataFolder("d4rl/half_cheetah.hdf5"));
    expect(reader).toMatchObject({ format: "d4rl", name: "half_cheetah", metadataSpec: {} });
    const episodes = await all(reader);
    expect(ends(episodes)).toEqual(episodes.map(() => [250, true, false, 1]));
    const told = columnsTold(episodes);
    expect(told.observation).toEqual({ dtype: "f32", shape: [17], rows: 4000, crc32: d4rl.observations.crc32 });
    expect(told.action).toEqual({ dtype: "f32", shape: [6], rows: 4000, crc32: d4rl.actions.crc32 });
    expect(told.reward).toEqual({ dtype: "f32", shape: [], rows: 4000, crc32: d4rl.rewards.crc32 });
    expect(told.is_terminal?.crc32).toBe(d4rl.terminals.crc32);
    expect(told.is_last?.crc32).toBe(d4rl.timeouts.crc32);
    await reader.close();
  });
});

describe("compared with the RLDS importer", () => {
  const expected = json("extra/expected_d4rl.json");
  // biome-ignore lint/suspicious/noExplicitAny: the importer's results
  const flat = (value: any, path = ""): [string, number][] =>
    "crc32" in value ? [[path, value.crc32]] : Object.entries(value).flatMap(([name, one]) => flat(one, path === "" ? name : `${path}/${name}`));

  it.each(["whole", "next"])("has the same steps in %s", async (name) => {
    const reader = await openD4rl(extra(name), { infos: true });
    const episodes = await all(reader);
    expect(episodes.length).toBe(expected[name].length);
    for (const [i, episode] of episodes.entries()) {
      const told = Object.entries(columnsTold([episode])).map(([path, { crc32 }]) => [path, crc32]);
      expect(Object.fromEntries(told)).toEqual(Object.fromEntries(flat(expected[name][i].steps)));
    }
    await reader.close();
  });

  it("has the metadata of the file in every episode", async () => {
    const reader = await openD4rl(extra("whole"));
    expect(reader.metadataSpec).toEqual({
      algorithm: { dtype: "string", shape: [] },
      iteration: { dtype: "i64", shape: [] },
      policy: { fc0: { weight: { dtype: "f32", shape: [2, 3] } } },
      final_step: { dtype: "string", shape: [] },
    });
    for (const episode of await all(reader)) expect(episode).toMatchObject({ algorithm: "SAC", iteration: 3n, policy: { fc0: { weight: { length: 6 } } } });
    const without = await openD4rl(extra("whole"), { metadata: false });
    expect(without.metadataSpec).toEqual({ final_step: { dtype: "string", shape: [] } });
    await Promise.all([reader.close(), without.close()]);
  });
});

describe("final observations", () => {
  it("are zeros after a terminated episode, and missing after a truncated one", async () => {
    const episodes = await allOf(openD4rl(extra("whole")));
    expect(ends(episodes)).toEqual([
      [8, true, true, 0],
      [13, true, false, 1],
      [14, true, true, 0],
      [27, true, false, 1],
    ]);
    expect(episodes[0]?.steps.at(7)).toMatchObject({ observation: new Float64Array(3), action: new Float32Array(2), reward: 0 });
    expect(episodes[0]?.steps.at(6)).toMatchObject({ discount: 0, is_last: false });
  });

  it('are omitted with finalObservation "none"', async () => {
    const episodes = await allOf(openD4rl(extra("whole"), { finalObservation: "none" }));
    expect(ends(episodes)).toEqual([
      [7, true, true, 0],
      [13, true, false, 1],
      [13, true, true, 0],
      [27, true, false, 1],
    ]);
    expect(episodes[0]?.steps.at(6).reward).not.toBe(0);
  });

  it('are the next observations of the file with finalObservation "next"', async () => {
    const episodes = await allOf(openD4rl(extra("tail"), { finalObservation: "next" }));
    expect(ends(episodes)).toEqual([
      [21, true, true, 0],
      [22, true, false, 0],
      [19, false, false, 1],
    ]);
    for (const { steps } of episodes.slice(0, 2)) {
      const [before, last] = [steps.length - 2, steps.length - 1].map((i) => steps.at(i).observation as Float64Array) as [Float64Array, Float64Array];
      expect(last).toEqual(before.map((value) => value + 100));
    }
    await expect(openD4rl(extra("whole"), { finalObservation: "next" })).rejects.toMatchObject({ code: "UNSUPPORTED", file: "whole.hdf5" });
  });
});

describe("options", () => {
  it("maxEpisodeSteps truncates episodes if the file has no timeouts", async () => {
    const reader = await openD4rl(extra("no_timeouts"), { maxEpisodeSteps: 25 });
    expect(ends(await all(reader))).toEqual([
      [10, true, true, 0],
      [25, true, false, 1],
      [25, true, false, 1],
      [1, false, false, 1],
    ]);
    await reader.close();
  });

  it("reject invalid values and enforce maxBytes", async () => {
    await expect(openD4rl(extra("whole"), { finalObservation: "zeros" as "none" })).rejects.toThrow(RangeError);
    await expect(openD4rl(extra("whole"), { maxEpisodeSteps: 0 })).rejects.toThrow(RangeError);
    await expect(openD4rl(extra("whole"), { maxBytes: 1000 })).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringContaining("maxBytes") });
  });
});

describe("HDF5 types", () => {
  it("are read with their dtypes and values", async () => {
    const reader = await openD4rl(extra("odd"), { infos: true });
    expect(reader.about).toEqual({ env: "odd-v0", numbers: new BigInt64Array([0n, 1n, 2n]) });
    const [episode] = await all(reader);
    const infos = [...(episode as ReadEpisode).steps].map((step) => step.infos) as { [name: string]: unknown }[];
    expect((reader.stepSpec as { infos: unknown }).infos).toEqual({
      big_endian: { dtype: "i32", shape: [] },
      half: { dtype: "f16", shape: [] },
      u64: { dtype: "u64", shape: [] },
      fixed: { dtype: "string", shape: [] },
      enum: { dtype: "u8", shape: [] },
      texts: { dtype: "string", shape: [] },
      ragged: { dtype: "bytes", shape: [] },
      pairs: { dtype: "f32", shape: [2] },
    });
    expect(infos.map(({ big_endian }) => big_endian)).toEqual(infos.map((_, i) => i));
    expect(infos.every(({ half }, i) => Math.abs((half as number) - i / 7) < 0.005)).toBe(true);
    expect(infos.map(({ u64 }) => u64)).toEqual(infos.map((_, i) => 2n ** 63n + BigInt(i)));
    expect(infos.map(({ fixed }) => fixed)).toEqual(infos.map((_, i) => `row ${i}`));
    expect(infos.map((row) => row.enum)).toEqual(infos.map((_, i) => i % 3));
    expect(infos.map(({ texts }) => texts)).toEqual(infos.map((_, i) => `é ${i}`.repeat(i % 4)));
    expect(infos.map(({ ragged }) => ragged)).toEqual(infos.map((_, i) => Uint8Array.from({ length: i % 5 }, (_, k) => k)));
    expect(infos.map(({ pairs }) => pairs)).toEqual(infos.map((_, i) => new Float32Array([i, 0 - i])));
    await reader.close();
  });

  it("that cannot be leaves are rejected by name, and other files are never read", async () => {
    await expect(openD4rl(extra("refused"), { infos: true })).rejects.toMatchObject({ code: "UNSUPPORTED", file: "refused.hdf5" });
    const { openHdf5 } = await import("../../../../../src/datasets/formats/hdf5/open-file.ts");
    const { hdf5 } = await openHdf5(extra("refused"), [], {});
    const refused = { compound: /compound/, complex: /compound|complex/, virtual: /other files/, linked: /broken link/ };
    for (const [name, message] of Object.entries(refused)) await expect(hdf5.tree(`/infos/${name}`)).rejects.toThrow(message);
    const outside = await hdf5.column("/infos/outside");
    await expect(outside.read(0, 60)).rejects.toMatchObject({ code: "CORRUPT" });
    await expect(hdf5.tree("/infos/circle")).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await hdf5.close();
  });
});
