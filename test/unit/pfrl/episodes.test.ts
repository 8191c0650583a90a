/** Tests unusual uses of PFRL buffers: environments with any name, reentrant calls, changes during iteration, and full memory. */
import { expect, test } from "vitest";
import { f64 } from "../../../src/index.ts";
import {
  EpisodicReplayBuffer,
  object,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  type Transition,
} from "../../../src/pfrl/index.ts";
import { isRefused } from "../../support/refused.ts";
import { whole } from "../../support/size.ts";

const step = (state: number, more: object = {}) => ({ state, action: 0, reward: state, nextState: state + 1, ...more });
const statesOf = (items: Iterable<readonly Transition[]>) => [...items].map((item) => item.map(({ state }) => state));

test("an environment named null has its own episode, and room is made for it", () => {
  const buffer = new EpisodicReplayBuffer();
  for (let i = 0; i < 1500; i++) buffer.append(step(i, { envId: null, isStateTerminal: i === 1499 })); // more steps than the 1,008 entries of the ring
  expect(statesOf(buffer.items()).flat()).toEqual(statesOf(buffer.episodes()).flat());
});

test("defaultPriorityFunc receives the whole episode of an environment named null", () => {
  const weighed: number[] = [];
  const defaultPriorityFunc = (episode: readonly Transition[]) => weighed.push(episode.length);
  const buffer = new PrioritizedEpisodicReplayBuffer({ defaultPriorityFunc });
  for (let i = 0; i < 3; i++) buffer.append(step(i, { envId: null, isStateTerminal: i === 2 }));
  expect(weighed).toEqual([3]);
});

test("a defaultPriorityFunc that appends cannot extend the episode beyond its reserved room", () => {
  let inside = false;
  const defaultPriorityFunc = () => {
    if (!inside) {
      inside = true;
      for (let i = 0; i < 3000; i++) buffer.append(step(7));
    }
    return 1;
  };
  const buffer: PrioritizedEpisodicReplayBuffer = new PrioritizedEpisodicReplayBuffer({ defaultPriorityFunc });
  buffer.append(step(1));
  isRefused(() => buffer.append(step(2, { isStateTerminal: true })));
  expect([...buffer.items()].map(({ state }) => state)).toEqual(statesOf(buffer.episodes()).flat());
});

test("episodes() returns only whole episodes if the buffer changes during iteration", () => {
  const buffer = new EpisodicReplayBuffer(6);
  const live = (from: number) => {
    for (let i = 0; i < 3; i++) buffer.append(step(from + i, { isStateTerminal: i === 2 }));
  };
  live(0);
  live(10);
  const seen: unknown[][] = [];
  for (const episode of buffer.episodes()) {
    seen.push(episode.map(({ state }) => state));
    if (seen.length > 1) continue;
    live(20);
    live(30);
    buffer.append(step(99));
  }
  for (const episode of seen) expect([0, 10, 20, 30].map((from) => [from, from + 1, from + 2])).toContainEqual(episode);
});

test("items() returns no newer items if the buffer changes during iteration", () => {
  const buffer = new ReplayBuffer(5);
  for (let i = 0; i < 5; i++) buffer.append(step(i));
  const seen: number[] = [];
  for (const [first] of buffer.items()) {
    seen.push(first?.state as number);
    if (seen.length === 1) for (let i = 100; i < 103; i++) buffer.append(step(i));
  }
  expect(seen.every((state) => state < 100)).toBe(true); // a bug returned 0, 101, 102, 3, 4
});

test("values in an object column are copied, so the caller may reuse the array", () => {
  const buffer = new ReplayBuffer();
  const hidden = new Float32Array(1);
  buffer.append(step(0));
  for (let i = 1; i <= 3; i++) buffer.append(step(i, { hidden: hidden.fill(i) }));
  expect([...buffer.items()].slice(1).map(([first]) => first?.hidden)).toEqual([1, 2, 3].map((i) => Float32Array.of(i))); // a bug returned 3, 3, 3
});

test("changing a sampled object does not change the stored one", () => {
  const buffer = new ReplayBuffer();
  buffer.append({ ...step(0), info: { note: "a" } });
  (buffer.sample(1, { form: "list" })[0]?.[0]?.info as { note: string }).note = "b";
  expect(buffer.sample(1, { form: "list" })[0]?.[0]?.info).toEqual({ note: "a" });
});

test("an accepted priority can be drawn, however small it is", () => {
  const buffer = new PrioritizedReplayBuffer({ alpha: 1, eps: 0, errorMax: null });
  buffer.append(step(0));
  buffer.sample(1);
  buffer.updateErrors([1e-305]);
  expect(buffer.sample(1).count).toBe(1); // a bug threw EMPTY: no item has a priority above 0
});

test("an item with a tiny priority is drawn with larger ones if all items are requested", () => {
  const buffer = new PrioritizedReplayBuffer({ alpha: 1, eps: 0, errorMax: null });
  for (let i = 0; i < 2; i++) buffer.append(step(i));
  buffer.updateErrors([1, 1e-305], buffer.priorities().keys);
  expect(buffer.sample(2).count).toBe(2); // a bug threw TOO_FEW
});

test("weights normalized by the maximum are at most 1 and finite", () => {
  const buffer = new PrioritizedReplayBuffer({ alpha: 1, beta0: 1, eps: 0, errorMax: null });
  for (let i = 0; i < 2; i++) buffer.append(step(i));
  buffer.updateErrors([1e200, 1e-200], buffer.priorities().keys);
  expect(Math.max(...buffer.sample(2).weights)).toBeLessThanOrEqual(1); // a bug returned 1.2e308, or Infinity with normalizeByMax: false
});

test.runIf(whole)("a sample that runs out of memory changes nothing, including the random state", () => {
  const make = () => {
    const buffer = new EpisodicReplayBuffer({ maxBytes: 2 ** 20, seed: 3 });
    try {
      for (let i = 0; ; i++) buffer.append({ ...step(i), state: new Float32Array(8), nextState: new Float32Array(8), isStateTerminal: i % 50 === 49 });
    } catch (error) {
      expect(error).toMatchObject({ code: "OUT_OF_MEMORY" });
      return buffer;
    }
  };
  const [one, other] = [make(), make()];
  expect(() => one.sampleEpisodes(one.nEpisodes)).toThrow(expect.objectContaining({ code: "OUT_OF_MEMORY" }));
  const drawn = (buffer: EpisodicReplayBuffer) => buffer.sampleEpisodes(4, 1, { form: "list" }).map(([first]) => first?.reward);
  expect(drawn(one)).toEqual(drawn(other));
});

test("a large numSteps reserves no memory at the first step", () => {
  const buffer = new ReplayBuffer({ numSteps: 50_000, maxBytes: 2 ** 20 });
  buffer.append(step(0)); // a bug threw OUT_OF_MEMORY
  expect(buffer.running().get(0)?.length).toBe(1);
});

const wide = (state: number, more: object = {}) => ({ ...step(state, more), action: new Float32Array(1024).fill(state) });

/** Appends until memory is full, and returns the number of steps. */
function full(append: (i: number) => void): number {
  let i = 0;
  expect(() => {
    for (; ; i++) append(i);
  }).toThrow(expect.objectContaining({ code: "OUT_OF_MEMORY", message: expect.stringMatching(/^out of memory: maxBytes .* is reached\. .*capacity/) }));
  return i;
}

test("an episode that fills the memory can be ended", () => {
  for (const buffer of [new EpisodicReplayBuffer({ maxBytes: 2 ** 21 }), new PrioritizedEpisodicReplayBuffer({ maxBytes: 2 ** 21 })]) {
    const length = full((i) => buffer.append(wide(i, { envId: i % 3 })));
    expect(length).toBeGreaterThan(100);
    for (const envId of [0, 1, 2]) buffer.stopCurrentEpisode(envId);
    expect([buffer.length, buffer.nEpisodes, buffer.running().size]).toEqual([length, 3, 0]);
  }
});

test("windows of many steps can be ended when memory is full", () => {
  const buffer = new ReplayBuffer({ numSteps: 3000, maxBytes: 2 ** 21 });
  const length = full((i) => buffer.append(step(i, { envId: i % 5 })));
  for (let envId = 0; envId < 5; envId++) buffer.stopCurrentEpisode(envId);
  expect([buffer.length, buffer.running().size]).toEqual([length, 0]);
});

test("calls from inside defaultPriorityFunc throw OUT_OF_TURN, and the episode continues", () => {
  const codes: unknown[] = [];
  let calls: (() => unknown)[] = [];
  const defaultPriorityFunc = () => {
    for (const call of calls) {
      try {
        call();
      } catch (error) {
        codes.push((error as { code?: string }).code);
      }
    }
    return 1;
  };
  const buffer = new PrioritizedEpisodicReplayBuffer({ defaultPriorityFunc, waitPriorityAfterSampling: false });
  buffer.append(step(0, { isStateTerminal: true }));
  const { keys } = buffer.priorities();
  calls = [
    ...[() => buffer.append(step(9)), () => buffer.stopCurrentEpisode(), () => buffer.sample(1), () => buffer.sampleEpisodes(1)],
    () => buffer.updateErrors([1], keys),
  ];
  buffer.append(step(1));
  buffer.append(step(2, { isStateTerminal: true }));
  expect(codes).toEqual(Array(5).fill("OUT_OF_TURN"));
  expect(statesOf(buffer.episodes())).toEqual([[0], [1, 2]]);
});

test("items() omits transitions that are evicted during iteration", () => {
  const buffer = new PrioritizedEpisodicReplayBuffer(3);
  for (let i = 0; i < 3; i++) buffer.append(step(i, { isStateTerminal: true }));
  const seen: unknown[] = [];
  for (const { state } of buffer.items()) {
    seen.push(state);
    if (seen.length === 1) for (let i = 7; i < 9; i++) buffer.append(step(i, { isStateTerminal: true }));
  }
  expect(seen).toEqual([0, 2]);
});

test("objects of every kind are copied when they are stored and when they are returned", () => {
  const buffer = new ReplayBuffer({ spec: { state: f64(), action: f64(), extras: { info: object() } } });
  const extras = { list: ["a", [1]], map: new Map([["k", { n: 1 }]]), set: new Set(["x"]), date: new Date(5), bytes: new Uint8Array(0), nothing: null };
  const info = structuredClone(extras);
  buffer.append({ ...step(0), info });
  info.list.push("b");
  (info.map.get("k") as { n: number }).n = 2;
  info.set.clear();
  info.date.setTime(0);
  const [given] = buffer.sample(1).extras.info as (typeof extras)[];
  expect(given).toEqual(extras);
  given?.map.clear();
  expect([...buffer.items()][0]?.[0]?.info).toEqual(extras);
});
