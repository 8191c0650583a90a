/** Tests files of both d3rlpy versions. */
import { describe, expect, it } from "vitest";
import { openRobots } from "../../../../../src/datasets/formats/hdf5/open-robots.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { ReadEpisode, RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { all } from "../../../../support/columns.ts";
import { TestRandom } from "../../../../support/random.ts";
import { scaled } from "../../../../support/size.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";

const path = (name: string) => dataFolder(`d3rlpy/${name}.h5`);
const ends = ({ steps, final_step }: ReadEpisode) => [steps.length, final_step, steps.at(steps.length - 1).is_last, steps.at(steps.length - 1).is_terminal];

describe("version 2", () => {
  it("has the episodes in the order of their numbers", async () => {
    const reader = (await openRlds(path("v2"))) as RldsReader;
    expect([reader.format, reader.name, reader.episodes]).toEqual(["d3rlpy", "v2", 12]);
    expect(reader.stepSpec).toMatchObject({
      observation: { dtype: "f32", shape: [3] },
      action: { dtype: "f32", shape: [2] },
      reward: { dtype: "f32", shape: [] },
      embeddings: { dtype: "f32", shape: [4] },
    });
    const episodes = await all(reader);
    expect(episodes.map(ends).slice(0, 3)).toEqual([
      [4, "transition", true, true],
      [2, "transition", true, false],
      [3, "transition", true, true],
    ]);
    expect(episodes.map(({ steps }) => steps.at(0).observation[0])).toEqual(Array.from({ length: 12 }, (_, i) => 100 * i));
    expect(episodes[0]?.steps.at(3)).toMatchObject({ action: Float32Array.of(6, 7), reward: 3.5, discount: 0 });
    expect(await reader.lengths?.()).toEqual([4, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    await reader.close();
  });

  it("supports tuples as observations, and a choice of columns", async () => {
    const reader = (await openRlds(path("tuples"))) as RldsReader;
    expect((reader.stepSpec as { readonly observation: unknown }).observation).toEqual([
      { dtype: "f32", shape: [3] },
      { dtype: "u8", shape: [1] },
    ]);
    expect((await all(reader)).map(ends)).toEqual([
      [3, "transition", true, true],
      [2, "transition", true, false],
    ]);
    await reader.close();
    const chosen = await openRobots(path("v2"), { without: ["embeddings"], rename: { observation: "observation/state" } });
    expect(chosen.stepSpec).toMatchObject({ observation: { state: { dtype: "f32", shape: [3] } } });
    expect(Object.keys(chosen.stepSpec)).not.toContain("embeddings");
    await chosen.close();
  });
});

describe("version 1", () => {
  it("is read as D4RL, and episode_terminals mark the ends of episodes", async () => {
    const reader = (await openRlds(path("v1"), { finalObservation: "none" })) as RldsReader;
    expect(reader.format).toBe("d4rl");
    const episodes = await all(reader);
    expect(episodes.map(ends)).toEqual([
      [3, "transition", true, true],
      [3, "transition", true, false],
    ]);
    expect(episodes.flatMap(({ steps }) => Array.from(steps, ({ reward }) => reward))).toEqual([0, 1, 2, 3, 4, 5]);
    await reader.close();
  });
});

it("damaged files either read or throw an RldsError that names the file", async () => {
  const random = new TestRandom(13);
  const counts = { read: 0, refused: 0 };
  for (const name of ["v2", "tuples"]) {
    const original = fileBytes(path(name));
    for (let i = 0; i < scaled(60); i++) {
      const bytes = original.slice(0, random.below(8) === 0 ? random.below(original.length) : original.length);
      for (let n = random.below(4); n >= 0 && bytes.length > 0; n--) bytes[random.below(bytes.length)] = random.below(256);
      try {
        const reader = (await openRlds(new File([bytes], "x.h5"), { maxBytes: 2 ** 22 })) as RldsReader;
        await all(reader).finally(() => reader.close());
        counts.read++;
      } catch (error) {
        expect(error).toMatchObject({ name: "RldsError", file: "x.h5" });
        counts.refused++;
      }
    }
  }
  expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(0);
});
