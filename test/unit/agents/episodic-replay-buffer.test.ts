import { describe, expect, test } from "vitest";
import { type Episodes, EpisodicReplayBuffer } from "../../../src/agents/index.ts";
import { f32 } from "../../../src/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const never = { beginEpisodeFn: () => false, endEpisodeFn: () => false };

function bufferOf(options: object = {}) {
  return new EpisodicReplayBuffer({ x: f32() }, { capacity: 4, ...never, ...options });
}

const data = (items: unknown) => [...(items as { x: { data: Iterable<number> } }).x.data];

/** Everything that can be seen of a buffer. */
function stateOf(buffer: EpisodicReplayBuffer<never>) {
  const ids = Array.from({ length: 2 * buffer.capacity }, (_, id) => id);
  const valid = buffer.getValidIdsMask(ids);
  return { frames: buffer.numFrames(), completed: buffer.completedEpisodes(), episodes: ids.map((id) => (valid[id] ? data(buffer.getEpisode(id)) : undefined)) };
}

/** The call is refused so, and nothing has changed. */
function expectNothing(buffer: unknown, call: () => unknown, code: Parameters<typeof expectError>[1], ...says: RegExp[]) {
  const before = stateOf(buffer as never);
  expectError(errorOf(call), code, ...says);
  expect(stateOf(buffer as never)).toEqual(before);
}

describe("an id that was never given", () => {
  const early = /episode 1 is not there/;

  test("is refused also where a new episode of the same batch would be given it", () => {
    const buffer = bufferOf({ capacity: 2 });
    buffer.addBatch({ x: [0] }, [-1]);
    for (const ids of [
      [1, -1],
      [-1, 1],
      [0, 1],
      [1, 1],
    ])
      expectNothing(buffer, () => buffer.addBatch({ x: [10, 20] }, ids), "STALE_KEY", early);
    expect(buffer.addBatch({ x: [10, 20] }, [0, -1])).toEqual([0, 1]);
    expect(data(buffer.getEpisode(1))).toEqual([20]);
  });
});
