import { expect, test } from "vitest";
import { f32 } from "../../../src/index.ts";
import { EpisodicReplayBuffer, StatefulEpisodicReplayBuffer } from "../../../src/tf-agents/index.ts";

function statefulOf(numEpisodes?: number) {
  const buffer = new EpisodicReplayBuffer({ x: f32() }, { capacity: 4, beginEpisodeFn: () => false, endEpisodeFn: () => false });
  return new StatefulEpisodicReplayBuffer(buffer, numEpisodes);
}

test("clear continues the same episodes, or starts new ones with clearAllVariables", () => {
  const many = statefulOf(2);
  many.addBatch({ x: [1, 2] });
  many.clear();
  expect(many.episodeIds).toEqual([0, 1]);
  expect(many.addBatch({ x: [1, 2] })).toEqual([0, 1]);
  many.clear({ clearAllVariables: true });
  expect(many.episodeIds).toEqual([-1, -1]);
  expect(many.addBatch({ x: [3, 4] })).toEqual([0, 1]);
  expect([...many.getEpisode(1).x.data]).toEqual([4]);
  const one = statefulOf();
  one.addSequence({ x: [1] });
  one.addSequence({ x: [1] });
  one.clear({ clearAllVariables: true });
  expect(one.episodeIds).toBe(-1);
  expect(one.addSequence({ x: [5] })).toBe(0);
});
