/** Tests JSON files without lines: arrays, objects over several lines, and RLlib output. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openJsonl } from "../../../../../src/datasets/formats/jsonl/open-jsonl.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { ReadEpisode, RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { all } from "../../../../support/columns.ts";
import { dataFolder } from "../../rlds/data.ts";

const text = (value: unknown) => new Blob([typeof value === "string" ? value : JSON.stringify(value)]);
const step = (i: number, more: object = {}) => ({ observation: [i, i / 2], action: i % 2, reward: 1, terminated: false, truncated: false, ...more });
const episodesOf = async (value: unknown) => all((await openRlds(text(value))) as RldsReader);
const actions = ({ steps }: ReadEpisode) => Array.from(steps, ({ action }) => action);

describe("a JSON array", () => {
  it("of steps is read like JSON lines", async () => {
    const file = readFileSync(dataFolder("wild/array.json"), "utf8");
    const lines = (JSON.parse(file) as object[]).map((value) => JSON.stringify(value)).join("\n");
    const expected = await episodesOf(lines);
    for (const form of [file, JSON.stringify(JSON.parse(file), null, 2), `\ufeff \n ${file}\n\n`]) {
      const episodes = await episodesOf(form);
      expect(episodes.map(({ steps }) => [...steps])).toEqual(expected.map(({ steps }) => [...steps]));
    }
    expect(expected.map(actions)).toEqual([[0, 1, 0, 1, 0, 0]]);
  });

  it("of episodes, lists of steps or columns is read", async () => {
    const lists = [[step(0), step(1, { terminated: true })], [step(2)]];
    expect((await episodesOf(lists)).map(({ steps }) => steps.length)).toEqual([3, 1]);
    expect((await episodesOf(lists.map((steps, id) => ({ id, steps })))).map(({ id, steps }) => [id, steps.length])).toEqual([
      [0, 3],
      [1, 1],
    ]);
    const columns = { observations: [[1], [2], [3]], actions: [0, 1], rewards: [1, 2], terminated: true, note: 'a "]} b' };
    expect((await episodesOf([columns, columns])).map(({ note, steps }) => [note, steps.length])).toEqual([
      ['a "]} b', 3],
      ['a "]} b', 3],
    ]);
    // The object spans several lines.
    expect((await episodesOf(JSON.stringify(columns, null, 2))).map(actions)).toEqual([[0, 1, 0]]);
  });

  it.each([
    ["cut within an element", '[{"observation": [1], "action": 0, "rewa', /element 1 is truncated/],
    ["cut between elements", `[${JSON.stringify(step(0))}, `, /the JSON array is truncated/],
    ["without a comma", `[${JSON.stringify(step(0))} ${JSON.stringify(step(1))}]`, /element 2 must be a JSON object, and commas must separate elements/],
    ["with a trailing comma", `[${JSON.stringify(step(0))}, ]`, /element 2 must be a JSON object/],
    ["of numbers", "[1, 2, 3]", /element 1 must be a JSON object/],
    ["with text after it", `[${JSON.stringify(step(0))}] x`, /element 2 must be/],
    ["damaged", '[{"observation": [1], "action": , "reward": 1}]', /element 1 is not JSON/],
  ])("that is %s is rejected", async (_, file, message) => {
    await expect(episodesOf(file)).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringMatching(message) });
  });

  it("throws EMPTY without elements, and enforces maxBytes and a maximum depth", async () => {
    await expect(episodesOf("[]")).rejects.toMatchObject({ code: "EMPTY" });
    await expect(openJsonl(text(`[{"x": "${"a".repeat(2 ** 19)}`), { maxBytes: 1000 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("maxBytes"),
    });
    await expect(openJsonl(text(`[{"x": ${"[".repeat(100_000)}`))).rejects.toMatchObject({ code: "CORRUPT" });
    await expect(openJsonl(text(`[{"x": ${"[".repeat(100_000)}${"]".repeat(100_000)}}]`))).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("nested more than"),
    });
  });

  it("throws an RldsError wherever it is truncated", async () => {
    const file = readFileSync(dataFolder("wild/array.json"), "utf8").trim();
    for (let cut = 1; cut < file.length; cut += 7) await expect(episodesOf(file.slice(0, cut)), String(cut)).rejects.toMatchObject({ name: "RldsError" });
  });
});

describe("RLlib", () => {
  const batch = (more: object) => ({
    type: "SampleBatch",
    t: [0, 1, 2],
    obs: [[1], [2], [3]],
    new_obs: [[2], [3], [4]],
    actions: [0, 1, 0],
    rewards: [1, 1, 1],
    ...more,
  });

  it("episodes continue across batches", async () => {
    const lines = [
      batch({ eps_id: [7, 7, 8], dones: [false, true, false], infos: [{}, {}, {}], action_prob: [0.5, 0.5, 0.25] }),
      batch({ eps_id: [8, 8, 9], dones: [false, true, false], infos: [{}, {}, {}], action_prob: [0.5, 0.5, 0.25] }),
    ];
    const reader = await openJsonl(text(lines.map((line) => JSON.stringify(line)).join("\n")));
    const episodes = await all(reader);
    expect(episodes.map(({ steps }) => steps.length)).toEqual([3, 4, 2]);
    expect(episodes.map(({ steps }) => Array.from(steps, ({ observation }) => observation[0]))).toEqual([
      [1, 2, 3],
      [3, 1, 2, 3],
      [3, 4],
    ]);
    expect(episodes[0]?.steps.at(0)).toMatchObject({ action_prob: 0.5, t: 0 });
    expect(reader.metadataSpec).toEqual({ final_step: { dtype: "string", shape: [] } });
  });

  it("compressed columns and several agents are rejected with an explanation", async () => {
    await expect(episodesOf(JSON.stringify(batch({ obs: "BCJNGGhAIg8AAAA" })))).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/RLlib compressed the column obs\. .*compress_columns/),
    });
    await expect(episodesOf('{"type": "MultiAgentBatch", "policy_batches": {}}')).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/several agents/),
    });
  });
});

it("final_step in the rows sets the kind of the last step", async () => {
  const flags = (i: number) => ({ is_first: i === 0, is_last: i === 1, is_terminal: false });
  const rows = ["transition", "observation"].flatMap((final_step, episode) =>
    [0, 1].map((i) => ({ episode, observation: [i, i / 2], action: 1, reward: 1, ...flags(i), final_step })),
  );
  const found = await episodesOf(rows.map((row) => JSON.stringify(row)).join("\n"));
  expect(found.map(({ final_step, steps }) => [final_step, steps.length])).toEqual([
    ["transition", 2],
    ["observation", 2],
  ]);
});
