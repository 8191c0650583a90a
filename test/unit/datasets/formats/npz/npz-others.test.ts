/** Tests archives of Stable-Baselines and imitation, and arrays that are not columns of steps. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openNpz } from "../../../../../src/datasets/formats/npz/open-npz.ts";
import type { ReadEpisode } from "../../../../../src/datasets/formats/reader.ts";
import { all } from "../../../../support/columns.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";
import { archive, npyHeader, storedArchive } from "./npz-archive.ts";

const wild = (name: string) => dataFolder(`wild/${name}.npz`);
const rewards = ({ steps }: ReadEpisode) => Array.from(steps, ({ reward }) => reward);
const blob = (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes]);
const two = { observations: [new Float32Array(8), [4, 2]], actions: [new Int32Array(4), [4]], rewards: [new Float64Array([1, 2, 3, 4]), [4]] } as const;

describe("Stable-Baselines", () => {
  it("episodes begin at episode_starts and keep all their actions", async () => {
    const reader = await openNpz(wild("starts"));
    expect([reader.episodes, reader.steps, await reader.lengths?.()]).toEqual([2, 30, [15, 15]]);
    const episodes = await all(reader);
    expect(episodes.map(rewards)).toEqual([0, 15].map((from) => Array.from({ length: 15 }, (_, i) => from + i)));
    for (const { steps, final_step } of episodes) {
      expect(final_step).toBe("transition");
      expect([steps.at(0).is_first, steps.at(14).is_last, steps.at(14).is_terminal]).toEqual([true, true, false]);
    }
    const [second] = await all((reader.startingAt as NonNullable<typeof reader.startingAt>)(1));
    expect(rewards(second as ReadEpisode)[0]).toBe(15);
  });

  it("dones mark terminated episodes, and rows before the first start form an episode", async () => {
    const bytes = storedArchive({
      ...two,
      episode_starts: [Uint8Array.of(0, 0, 1, 0), [4]],
      dones: [Uint8Array.of(0, 1, 0, 0), [4]],
      episode_returns: [new Float64Array([3, 7]), [2]],
    });
    const reader = await openNpz(blob(bytes));
    expect(reader.metadataSpec).toMatchObject({ episode_returns: { dtype: "f64", shape: [] } });
    const episodes = await all(reader);
    expect(episodes.map((episode) => [rewards(episode), episode.steps.at(1).is_terminal, episode.episode_returns])).toEqual([
      [[1, 2], true, 3],
      [[3, 4], false, 7],
    ]);
  });
});

describe("imitation", () => {
  it("episodes have final observations", async () => {
    const reader = await openNpz(wild("imitation"));
    expect([reader.episodes, await reader.lengths?.()]).toEqual([2, [16, 16]]);
    const episodes = await all(reader);
    const first = episodes.map(({ steps, final_step }) => [
      final_step,
      steps.at(15).is_last,
      steps.at(15).is_terminal,
      steps.at(15).reward,
      steps.at(14).reward,
    ]);
    expect(first).toEqual([
      ["observation", true, true, 0, 1],
      ["observation", true, false, 0, 1],
    ]);
    // The file contains 16 observations of each episode, one episode after the other.
    const observations = (await observationsOf("imitation")) as Float64Array;
    for (const [e, { steps }] of episodes.entries())
      for (let t = 0; t < 16; t++) expect(steps.at(t).observation).toEqual(observations.slice((16 * e + t) * 3, (16 * e + t + 1) * 3));
  });

  const arrays = (indices: readonly number[], terminal: readonly number[], observations: number) =>
    storedArchive({
      obs: [new Float32Array(observations), [observations]],
      acts: [new Int32Array(4), [4]],
      rews: [new Float64Array(4), [4]],
      indices: [Int32Array.from(indices), [indices.length]],
      terminal: [Uint8Array.from(terminal), [terminal.length]],
    });

  it.each([
    ["indices that fall", arrays([3, 1], [1, 0, 0], 7), /indices must increase/],
    ["indices beyond the end", arrays([1_000_000_000], [1, 0], 6), /indices must increase/],
    ["too few observations", arrays([2], [1, 0], 5), /one more observation/],
  ])("%s are rejected", async (_, bytes, message) => {
    await expect(openNpz(blob(bytes))).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringMatching(message) });
  });

  it("an episode without actions has one step", async () => {
    const episodes = await all(await openNpz(blob(arrays([2, 2], [0, 1, 0], 7))));
    expect(episodes.map(({ steps }) => steps.length)).toEqual([3, 1, 3]);
  });
});

describe("arrays that are not columns of steps", () => {
  it("objects are reported as unread and never loaded", async () => {
    const reader = await openNpz(wild("obj_info"));
    expect(reader.about).toEqual({ unread: ["infos"] });
    expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([16, 15]);
    const objects = archive({ name: "observations.npy", header: npyHeader("|O", "(4,)"), elements: 32 });
    await expect(openNpz(blob(objects))).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("Python objects") });
  });

  it("single values become metadata of the episodes and entries of about", async () => {
    const reader = await openNpz(wild("scalar_meta"));
    expect(reader.about).toEqual({ env_name: "CartPole-v1", fps: 30 });
    expect(reader.metadataSpec).toMatchObject({ env_name: { dtype: "string", shape: [] }, fps: { dtype: "i64", shape: [] } });
    expect((await all(reader)).map(({ env_name, fps }) => [env_name, fps])).toEqual([
      ["CartPole-v1", 30n],
      ["CartPole-v1", 30n],
    ]);
  });

  it("become entries of about", async () => {
    const reader = await openNpz(blob(storedArchive({ ...two, terminals: [Uint8Array.of(0, 1, 0, 1), [4]], mean: [new Float32Array([1, 2, 3]), [3]] })));
    expect(reader.about).toEqual({ mean: Float32Array.of(1, 2, 3) });
    expect((await all(reader)).length).toBe(2);
  });
});

it.each(["starts", "imitation", "obj_info", "scalar_meta"])(
  "%s: truncated files throw an RldsError, and flipped bytes either throw one or read",
  async (name) => {
    const bytes = fileBytes(wild(name));
    const read = async (data: Uint8Array<ArrayBuffer>) => {
      const reader = await openNpz(new Blob([data]), { maxBytes: 2 ** 20 });
      return (await all(reader)).map(({ steps }) => steps.length);
    };
    const expected = await read(bytes);
    for (let cut = 0; cut < bytes.length; cut += 37) await expect(read(bytes.slice(0, cut))).rejects.toMatchObject({ name: "RldsError" });
    for (let at = 0; at < bytes.length; at += 23) {
      const flipped = bytes.slice();
      flipped[at] = (flipped[at] as number) ^ 0x55;
      const result = await read(flipped).catch((error) => error);
      if (result instanceof Error) expect(result).toMatchObject({ name: "RldsError" });
      else
        expect(result.reduce((sum: number, length: number) => sum + length, 0)).toBeLessThanOrEqual(
          expected.reduce((sum: number, length: number) => sum + length, 0) + 30,
        );
    }
  },
);

async function observationsOf(name: string): Promise<unknown> {
  const { unzipSync } = await import("fflate");
  const bytes = unzipSync(new Uint8Array(readFileSync(wild(name))))["obs.npy"] as Uint8Array;
  const begin = 10 + (bytes[8] as number) + 256 * (bytes[9] as number);
  return new Float64Array(bytes.slice(begin).buffer);
}
