/** Tests how the room Look shows leaves: their forms, summaries, distributions and findings. */
import { describe, expect, it } from "vitest";
import { type LeafColumn, leafColumns, leafForms } from "../../../page/look/model/columns.ts";
import { Distributions } from "../../../page/look/model/distributions.ts";
import { SKETCH } from "../../../page/look/model/episode-table.ts";
import { Findings } from "../../../page/look/model/findings.ts";
import { fillPixels, filmForm, kindOf, videosOf } from "../../../page/look/model/leaf-kinds.ts";
import { summaryOf } from "../../../page/look/model/summary.ts";
import { inspectRlds, openRlds, type ReadEpisode } from "../../../src/datasets/rlds/index.ts";
import { root } from "../../support/core.ts";

const leaf = (dtype: string, ...shape: number[]) => ({ path: "x", dtype, shape, size: shape.reduce((a, b) => a * b, 1) });

async function episodesOf(path: string): Promise<{ readonly columns: LeafColumn[]; readonly episode: ReadEpisode<unknown> }[]> {
  const reader = await openRlds<unknown>(`${root}/test/data/${path}`);
  const found = [];
  for await (const episode of reader) found.push({ columns: leafColumns(episode.steps.spec, episode.steps.columns), episode });
  await reader.close();
  return found;
}

describe("leaves", () => {
  it("come in RLDS order, each with its own column", async () => {
    const [first] = await episodesOf("tfds/cartpole_pixels");
    const { columns, episode } = first as NonNullable<typeof first>;
    expect(columns.map(({ path }) => path)).toEqual([
      ...["observation/image", "observation/state", "action", "reward", "discount", "language_instruction", "is_first", "is_last", "is_terminal"],
    ]);
    const { steps } = episode as unknown as { readonly steps: { readonly columns: { readonly observation: { readonly state: { readonly data: unknown } } } } };
    expect(columns[1]?.data).toBe(steps.columns.observation.state.data);
    expect(leafForms(episode.steps.spec).map(({ path }) => path)).toEqual(columns.map(({ path }) => path));
  });

  it("are classified as images by dtype and shape", () => {
    expect(filmForm(leaf("u8", 48, 64, 3))).toEqual({ height: 48, width: 64, channels: 3, planar: false });
    expect(filmForm(leaf("f32", 3, 48, 64))).toEqual({ height: 48, width: 64, channels: 3, planar: true });
    expect(filmForm(leaf("u8", 84, 84))).toEqual({ height: 84, width: 84, channels: 1, planar: false });
    for (const none of [leaf("u8", 4, 4, 3), leaf("f32", 84, 84), leaf("i32", 48, 64, 3), leaf("u8", 48, 64, 5), leaf("u8", 48)])
      expect(filmForm(none)).toBeUndefined();
    expect([kindOf(leaf("string")), kindOf(leaf("bytes")), kindOf(leaf("f32", 4)), kindOf(leaf("u8", 48, 64, 3))]).toEqual([
      "text",
      "encoded",
      "numbers",
      "film",
    ]);
  });

  it("fill pixels from interleaved and planar data", () => {
    const into = new Uint8ClampedArray(4 * 2);
    fillPixels({ width: 2, height: 1, channels: 3, planar: false }, Uint8Array.of(9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6), 1, into);
    expect(Array.from(into)).toEqual([1, 2, 3, 255, 4, 5, 6, 255]);
    fillPixels({ width: 2, height: 1, channels: 3, planar: true }, Float32Array.of(0, 1, 0.5, 1, 1, 0), 0, into);
    expect(Array.from(into)).toEqual([0, 128, 255, 255, 255, 255, 0, 255]);
    fillPixels({ width: 2, height: 1, channels: 1, planar: false }, Float32Array.of(7, 200), 0, into);
    expect(Array.from(into)).toEqual([7, 7, 7, 255, 200, 200, 200, 255]);
  });

  it("are a video if a path and a timestamp share a parent", () => {
    const column = (path: string, dtype: string, data: unknown) => ({ path, dtype, shape: [], size: 1, data }) as LeafColumn;
    const columns = [
      column("observation/top/path", "string", ["a.mp4"]),
      column("observation/top/timestamp", "f64", Float64Array.of(1.5)),
      column("other/path", "string", ["b"]),
    ];
    expect(videosOf(columns)).toEqual([{ path: "observation/top", files: ["a.mp4"], times: Float64Array.of(1.5) }]);
  });
});

describe("summaries", () => {
  it("have the same lengths and returns as statistics", async () => {
    const { statistics } = await import("../../../src/datasets/rlds/index.ts");
    const summariesOf = async (path: string) => {
      const reader = await openRlds(`${root}/test/data/${path}`);
      const wanted = await statistics(reader);
      await reader.close();
      const found = (await episodesOf(path)).map(({ columns, episode }, i) =>
        summaryOf(i, episode.steps.length, columns, 0, episode.final_step !== "transition"),
      );
      expect(found.map(({ length }) => length)).toEqual(wanted.lengths.values);
      expect(found.map(({ sum }) => sum)).toEqual(wanted.returns.values);
      return found;
    };
    const sparse = await summariesOf("wild/lerobot_sparse");
    expect(sparse.map(({ sum }) => sum)).toEqual([1, 1]);
    const summaries = await summariesOf("tfds/cartpole");
    expect(new Set(summaries.map(({ ending }) => ending))).toEqual(new Set(["terminated", "truncated"]));
    for (const { sketch } of summaries) expect([sketch.length, Math.min(...sketch), Math.max(...sketch)]).toEqual([SKETCH, 0, 254]);
  });

  it("have a NaN return without a reward, and an empty sketch without actions", () => {
    const { sum, sketch, ending } = summaryOf(0, 3, [], 0, true);
    expect([sum, ending, new Set(sketch)]).toEqual([Number.NaN, "open", new Set([255])]);
  });
});

describe("distributions", () => {
  it.each(["tfds/cartpole", "wild/lerobot_sparse"])(
    "equal those of statistics, without action, reward or discount of a final observation: %s",
    async (path) => {
      const { statistics } = await import("../../../src/datasets/rlds/index.ts");
      const reader = await openRlds(`${root}/test/data/${path}`);
      const { leaves } = await statistics(reader);
      await reader.close();
      const all = new Distributions();
      for (const { columns, episode } of await episodesOf(path)) all.add(columns, episode.steps.length, episode.final_step !== "transition");
      for (const { path, count, min, max, mean, elements } of leaves) {
        const { spread, stride } = all.all.find((one) => one.path === path) ?? {};
        expect([path, stride, spread?.count, spread?.min, spread?.max]).toEqual([path, 1, count * elements.mean.length, Number(min), Number(max)]);
        expect(spread?.mean).toBeCloseTo(mean, 9);
      }
    },
  );

  it("count every nth element of large values, and texts by frequency", async () => {
    const all = new Distributions();
    for (const { columns, episode } of await episodesOf("tfds/cartpole_pixels")) all.add(columns, episode.steps.length, true);
    const image = all.all.find(({ path }) => path === "observation/image");
    expect(image?.stride).toBe(29);
    expect(image?.spread?.count).toBe(188 * Math.ceil(6912 / 29));
    const texts = all.all.find(({ path }) => path === "language_instruction");
    expect(texts?.texts?.[0]).toEqual({ text: "keep the pole up (0)", count: 8 });
    expect((texts?.texts ?? []).reduce((sum, { count }) => sum + count, texts?.otherTexts ?? 0)).toBe(188);
  });
});

describe("findings", () => {
  it("assign every fault to its own episode, in any order of reading", async () => {
    const step = (x: number, more: object = {}) => ({
      observation: [x],
      action: 0,
      reward: 1,
      discount: 1,
      is_first: false,
      is_last: false,
      is_terminal: false,
      ...more,
    });
    const good = { steps: [step(0, { is_first: true }), step(1), step(2, { is_last: true })] };
    const dangling = { steps: [step(5, { is_first: true }), step(6)] };
    const broken = { steps: [step(7, { is_first: true }), step(Number.NaN), step(9, { is_last: true })] };
    const findings = new Findings();
    const add = async (episode: number, data: object) => findings.add(episode, await inspectRlds([data as never]));
    expect([await add(9, broken), await add(2, good), await add(4, dangling)]).toEqual([1, 0, 1]);
    expect(findings.faultyEpisodes).toBe(2);
    expect(findings.all).toEqual([
      { kind: "danglingTails", count: 1, places: [{ episode: 4, step: 1, path: "is_last", value: "false" }] },
      { kind: "nonFinite", count: 1, places: [{ episode: 9, step: 1, path: "observation", value: "NaN" }] },
    ]);
  });
});
