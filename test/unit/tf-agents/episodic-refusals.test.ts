import { describe, expect, test } from "vitest";
import { bool, f32, type Leaf, type Spec, shared } from "../../../src/index.ts";
import { EpisodicReplayBuffer } from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled, stride } from "../../support/size.ts";

const never = { beginEpisodeFn: () => false, endEpisodeFn: () => false };

function bufferOf(options: object = {}) {
  return new EpisodicReplayBuffer({ x: f32() }, { capacity: 4, ...never, ...options });
}

const data = (items: unknown) => [...(items as { x: { data: Iterable<number> } }).x.data];

/** Returns all visible state of a buffer. */
function stateOf(buffer: EpisodicReplayBuffer<never>) {
  const ids = Array.from({ length: 2 * buffer.capacity }, (_, id) => id);
  const valid = buffer.getValidIdsMask(ids);
  return {
    frames: buffer.numFrames(),
    completed: buffer.completedEpisodes(),
    episodes: ids.map((id) => (valid[id] ? data(buffer.getEpisode(id)) : undefined)),
  };
}

/** Checks that a call is rejected with this error and changes nothing. */
function expectNothing(buffer: unknown, call: () => unknown, code: Parameters<typeof expectError>[1], ...says: RegExp[]) {
  const before = stateOf(buffer as never);
  expectError(errorOf(call), code, ...says);
  expect(stateOf(buffer as never)).toEqual(before);
}

describe("an id that was never assigned", () => {
  const early = /episode 1 has not begun/;

  test("is rejected even if a new episode of the same batch would receive it", () => {
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

  test("is rejected by extendEpisodes", () => {
    const buffer = bufferOf({ capacity: 2 });
    buffer.addBatch({ x: [0] }, [-1]);
    const copy = buffer.extract([0]);
    const two = { length: [1, 1], completed: [0, 0], items: [...copy.items, ...copy.items] };
    expectNothing(buffer, () => buffer.extendEpisodes([1, -1], [0, 1], two), "STALE_KEY", early);
    // An id may have any value if no copy refers to it.
    expect(buffer.extendEpisodes([7, -1, 0], [1, 2], two)).toEqual([7, 1, 0]);
    expect(data(buffer.getEpisode(0))).toEqual([0, 0]);
  });
});

describe("a rejected call changes nothing", () => {
  test("if a row of a batch has a byte that is not a boolean", () => {
    const buffer = new EpisodicReplayBuffer({ x: bool() }, { capacity: 4, ...never });
    const [id = 0] = buffer.addBatch({ x: new Uint8Array([1]) }, [-1]);
    expectNothing(buffer, () => buffer.addBatch({ x: new Uint8Array([1, 2]) }, [id, id]), "INVALID_DATA", /x/, /2/);
    const items = [{ x: new Uint8Array([1]) }, { x: new Uint8Array([2]) }];
    expectNothing(buffer, () => buffer.extendEpisodes([-1, -1], [0, 1], { length: [1, 1], completed: [0, 0], items } as never), "INVALID_DATA", /x/, /2/);
  });

  test.each<[string, Spec, number]>([
    ["shared frames", shared("f", f32(64, 64), 1), 1],
    ["long sequences", f32(16), 700],
    ["wide leaves", f32(4096), 3],
  ])("if memory is full: %s", (_, x, steps) => {
    let refused = 0;
    for (let more = 0; more < 40; more += stride(1, 5)) {
      const buffer = new EpisodicReplayBuffer({ x } as never, { capacity: 1000, maxBytes: 2 ** 20 + more * 16384, ...never } as never);
      const size = (x as Leaf).shape.reduce((product, n) => product * n, 1);
      const sequence = (n: number) => ({ x: new Float32Array(n * size).fill(n) });
      const counts = () => [buffer.numFrames(), [...buffer.getValidIdsMask(Array.from({ length: 1000 }, (_, id) => id))].reduce((sum, one) => sum + one)];
      for (let i = 0; ; i++) {
        const before = counts();
        try {
          const length = [steps, 1, steps + i];
          buffer.extendEpisodes([-1, -1, -1], [0, 1, 2], { length, completed: [1, 1, 1], items: length.map(sequence) } as never);
        } catch (error) {
          expectError(error as Error, "OUT_OF_MEMORY");
          expect(counts()).toEqual(before);
          refused++;
          break;
        }
      }
    }
    expect(refused).toBe(scaled(40, 8));
  });
});

describe("a dataset that waits for a completed episode", () => {
  const ways: [string, (buffer: ReturnType<typeof bufferOf>) => unknown][] = [
    ["addSequence", (buffer) => buffer.addSequence({ x: [1, 2, 3] }, -1)],
    ["addBatch", (buffer) => buffer.addBatch({ x: [1, 2] }, [-1, -1])],
    ["extendEpisodes", (buffer) => buffer.extendEpisodes([-1], [0], { length: [1], completed: [1], items: [{ x: { data: Float32Array.of(1), shape: [1] } }] })],
  ];
  test.each(ways)("continues after %s", async (_, add) => {
    const buffer = bufferOf({ completedOnly: true, endEpisodeFn: () => true });
    const began = performance.now();
    setTimeout(() => add(buffer), 5);
    const seen: unknown[] = [];
    for await (const [items] of buffer.asDataset({ timeoutMs: 20_000 })) {
      seen.push(data(items)[0]);
      break;
    }
    expect(seen).toHaveLength(1);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe("batches of many sizes", () => {
  test("take no more memory than the largest batch", () => {
    const buffer = new EpisodicReplayBuffer({ x: f32(1000) }, { capacity: 100, maxBytes: 6 * 2 ** 20, ...never });
    for (let n = 1; n <= 100; n++) {
      buffer.addBatch({ x: new Float32Array(1000 * n).fill(n) }, new Array(n).fill(-1));
      expect(buffer.numFrames()).toBe(n);
      buffer.clear({ clearAllVariables: true });
    }
  });

  test("add each row to its episode", () => {
    const buffer = bufferOf({ capacity: 50 });
    const wanted: number[][] = Array.from({ length: 50 }, () => []);
    const ids: number[] = buffer.addBatch({ x: Array.from({ length: 50 }, (_, row) => row) }, new Array(50).fill(-1));
    for (const [row, steps] of wanted.entries()) steps.push(row);
    for (const [turn, n] of [7, 3, 50, 31, 1, 2, 49, 7, 16].entries()) {
      const given = [...ids.slice(50 - n), ids[50 - n] as number];
      const x = given.map((_, row) => 100 * (turn + 1) + row);
      expect(buffer.addBatch({ x }, given)).toEqual(given);
      for (const [row, id] of given.entries()) wanted[id]?.push(x[row] as number);
    }
    expect(wanted.map((_, id) => data(buffer.getEpisode(id)))).toEqual(wanted);
  });
});
