/** Tests PFRL buffers: arguments, the protocol of calls, errors, and the forms of a sample. */
import { describe, expect, test } from "vitest";
import { f32, i32 } from "../../../src/index.ts";
import {
  EpisodicReplayBuffer,
  object,
  PersistentReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
} from "../../../src/pfrl/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const LIST = { form: "list" } as const;
const step = (i: number, isStateTerminal = false) => ({ state: [i, -i], action: i, reward: i, nextState: [i + 1, -i - 1], isStateTerminal });
const fill = <B extends { append(transition: ReturnType<typeof step>): void }>(buffer: B, n: number, length = n): B => {
  for (let i = 0; i < n; i++) buffer.append(step(i, i % length === length - 1));
  return buffer;
};

describe("arguments", () => {
  test("are accepted by position, by name, or both", () => {
    const made = [
      new ReplayBuffer(5, 2),
      new ReplayBuffer(5, { numSteps: 2 }),
      new ReplayBuffer({ capacity: 5, numSteps: 2, seed: 1 }),
      new ReplayBuffer(5, 2, { maxBytes: 1 << 24 }),
    ];
    for (const { capacity, numSteps } of made) expect([capacity, numSteps]).toEqual([5, 2]);
    expect([new ReplayBuffer().capacity, new ReplayBuffer(null).capacity, new ReplayBuffer(undefined, 3).numSteps]).toEqual([null, null, 3]);
    const all = new PrioritizedReplayBuffer(5, 0.7, 0.5, null, 0.1, "memory", null, 2, 3);
    expect([all.capacity, all.beta, all.numSteps, all.priorityFromErrors([9])[0]]).toEqual([5, 0.5, 3, expect.closeTo(2.1 ** 0.7, 12)]);
    expect(new PrioritizedEpisodicReplayBuffer(5, 0.7, 0.5).beta).toBe(0.5);
  });

  test.each<[string, () => unknown, typeof TypeError | typeof RangeError, RegExp]>([
    ["a capacity below 0", () => new ReplayBuffer(-1), RangeError, /capacity must be an integer in 0 … \d+/],
    ["half a transition", () => new ReplayBuffer(1.5), TypeError, /capacity/],
    ["a capacity that is a word", () => new EpisodicReplayBuffer("many" as never), TypeError, /capacity/],
    ["no steps", () => new ReplayBuffer(5, 0), RangeError, /numSteps must be an integer in 1/],
    ["an unknown option", () => new ReplayBuffer({ num_steps: 2 } as never), TypeError, /no option "num_steps"/],
    ["an option passed twice", () => new ReplayBuffer(5, { capacity: 6 } as never), TypeError, /capacity is passed twice/],
    ["too many", () => new ReplayBuffer(5, 2, 3 as never), TypeError, /at most capacity, numSteps/],
    ["alpha below 0", () => new PrioritizedReplayBuffer({ alpha: -0.1 }), RangeError, /alpha must be a finite number >= 0/],
    ["beta0 above 1", () => new PrioritizedReplayBuffer({ beta0: 1.01 }), RangeError, /beta0/],
    ["no betaSteps", () => new PrioritizedReplayBuffer({ betaSteps: 0 }), RangeError, /betaSteps must/],
    ["another normalizeByMax", () => new PrioritizedReplayBuffer({ normalizeByMax: "max" as never }), RangeError, /normalizeByMax must be true, false/],
    ["a number for true", () => new PrioritizedReplayBuffer({ normalizeByMax: 1 as never }), TypeError, /normalizeByMax/],
    ["NaN for a bound", () => new PrioritizedReplayBuffer({ errorMin: Number.NaN }), RangeError, /errorMin/],
    ["a ratio above 1", () => new PrioritizedEpisodicReplayBuffer({ uniformRatio: 1.5 }), RangeError, /uniformRatio/],
    ["a number for a flag", () => new PrioritizedEpisodicReplayBuffer({ returnSampleWeights: 1 as never }), TypeError, /returnSampleWeights must be a boolean/],
    ["no function", () => new PrioritizedEpisodicReplayBuffer({ defaultPriorityFunc: 3 as never }), TypeError, /defaultPriorityFunc must be a function/],
    [
      "a value that does not fit the spec",
      () => new ReplayBuffer({ capacity: 1000, spec: { state: f32(100), action: i32() }, maxBytes: 1 << 19 }),
      RangeError,
      /capacity must be small enough for maxBytes \(\d+\), got .*At \d+ bytes per step/,
    ],
  ])("are rejected: %s", (_, call, kind, says) => expectError(errorOf(call), kind, says));

  test("that were never public in PFRL are rejected with an alternative", () => {
    for (const options of [{ distributed: true }, { group: {} }])
      expectError(
        errorOf(() => new PersistentReplayBuffer(memory(), 5, options as never)),
        "UNSUPPORTED",
        /never public/,
        /ancestor/,
      );
  });

  test("a capacity that cannot fit throws at the first step, and a rejected step changes nothing", () => {
    const bounded = new ReplayBuffer(1_000_000, { maxBytes: 1 << 22 });
    expectError(
      errorOf(() => bounded.append(step(0))),
      RangeError,
      /capacity must be small enough for maxBytes/,
    );
    const buffer = new ReplayBuffer({ maxBytes: 3 << 20, numSteps: 2 });
    let n = 0;
    const error = errorOf(() => {
      for (; ; n++) buffer.append({ ...step(n), state: new Float64Array(64).fill(n), nextState: null } as never);
    });
    expectError(error, "OUT_OF_MEMORY");
    expect(n).toBeGreaterThan(2500);
    expect(buffer.length).toBe(n - 1);
    expect([...buffer.items()].at(-1)?.map(({ action }) => action)).toEqual([n - 2, n - 1]);
    expect(buffer.bytes).toBeLessThanOrEqual(3 << 20);
  });
});

describe("small capacities", () => {
  test("capacity 1 keeps the newest item, or episode", () => {
    expect([...fill(new ReplayBuffer(1, 3), 5).items()].map((item) => item.map(({ action }) => action))).toEqual([[4]]);
    const per = fill(new PrioritizedReplayBuffer(1), 5);
    expect(per.sample(1).action.data[0]).toBe(4);
    expect(per.updateErrors([1])).toBe(1);
    expect([fill(new EpisodicReplayBuffer(1), 5, 1).length, fill(new EpisodicReplayBuffer(1), 4, 2).length]).toEqual([1, 0]);
    const pere = fill(new PrioritizedEpisodicReplayBuffer(1), 4, 2);
    expect([pere.length, pere.nEpisodes]).toEqual([1, 0]);
  });

  test("with capacity 0 a uniform buffer keeps nothing, and a prioritized one rejects steps", () => {
    expect(fill(new ReplayBuffer(0), 3).length).toBe(0);
    expect([fill(new EpisodicReplayBuffer(0), 3).length, fill(new PrioritizedEpisodicReplayBuffer(0), 3).length]).toEqual([0, 0]);
    const buffer = new PrioritizedReplayBuffer(0);
    expectError(
      errorOf(() => buffer.append(step(0))),
      RangeError,
      /capacity must be at least 1 to append/,
    );
  });
});

describe("samples", () => {
  test("a batch contains the first state, the last next state, and all rewards", () => {
    const buffer = fill(new ReplayBuffer({ numSteps: 3, seed: 3 }), 4);
    const { state, action, reward, nextState, isStateTerminal, lengths, hasNextState, hasNextAction } = buffer.sample(4);
    const at = (a: number) => [...(action.data as Float64Array)].indexOf(a);
    expect([state.shape, nextState.shape, reward.shape]).toEqual([
      [4, 2],
      [4, 2],
      [4, 3],
    ]);
    expect([...lengths].map((length, i) => [action.data[i], length]).sort()).toEqual([
      [0, 3],
      [1, 3],
      [2, 2],
      [3, 1],
    ]);
    expect([...reward.data.subarray(3 * at(2), 3 * at(2) + 3)]).toEqual([2, 3, 0]);
    expect([...nextState.data.subarray(2 * at(0), 2 * at(0) + 2)]).toEqual([3, -3]);
    expect([...isStateTerminal.data.subarray(3 * at(1), 3 * at(1) + 3)]).toEqual([0, 0, 1]);
    expect([[...hasNextState.data], [...hasNextAction.data]]).toEqual([
      [1, 1, 1, 1],
      [0, 0, 0, 0],
    ]);
  });

  test("into refills the same arrays, and rejects another buffer's batch or another n", () => {
    const buffer = fill(new ReplayBuffer(20), 20);
    const into = buffer.sample(8);
    const { data } = into.action;
    const seen = new Set<number>();
    for (let i = 0; i < 50; i++) {
      expect(buffer.sample(8, { into })).toBe(into);
      expect(into.action.data).toBe(data);
      expect(new Set(data).size).toBe(8);
      for (const action of data) seen.add(action);
    }
    expect(seen.size).toBe(20);
    expectError(
      errorOf(() => buffer.sample(7, { into })),
      RangeError,
      /into must be a batch of 7/,
    );
    expectError(
      errorOf(() => fill(new ReplayBuffer(), 9).sample(8, { into })),
      TypeError,
      /a batch from this buffer/,
    );
    expectError(
      errorOf(() => buffer.sample(8, { form: "rows" } as never)),
      RangeError,
      /form must be "batch" or "list"/,
    );
    expectError(
      errorOf(() => buffer.sample(8, { int: into } as never)),
      TypeError,
      /no option "int"/,
    );
  });

  test("a batch without into stays unchanged by later samples, and may be used as into", () => {
    const spec = { state: { at: f32(2), word: object() }, action: i32(), extras: { logp: f32(), note: object() } } as const;
    const buffer = new PrioritizedReplayBuffer({ capacity: 20, spec, waitPriorityAfterSampling: false });
    const append = (i: number) => {
      const state = { at: [i, -i], word: { i } };
      buffer.append({ state, action: i, reward: i, nextState: state, isStateTerminal: true, ...(i % 2 === 0 && { logp: i, note: [i] }) });
    };
    for (let i = 0; i < 20; i++) append(i);
    const kept = Array.from({ length: 40 }, (_, k) => {
      const batch = buffer.sample([3, 5, 8][k % 3] as number);
      append(20 + k);
      return { batch, copy: structuredClone(batch) };
    });
    const into = kept[0]?.batch as (typeof kept)[number]["batch"];
    for (let k = 0; k < 3; k++) expect(buffer.sample(3, { into })).toBe(into);
    expect(new Set(into.action.data).size).toBe(3);
    for (const [i, action] of into.action.data.entries()) expect(into.state.word[i]).toEqual({ i: action });
    const memories = new Set(kept.map(({ batch }) => batch.action.data.buffer));
    expect(memories.size).toBe(kept.length);
    for (const { batch, copy } of kept.slice(1)) {
      // Classes are lost when the batch is copied.
      expect(structuredClone(batch)).toEqual(copy);
      for (const [i, action] of batch.action.data.entries()) {
        expect([...batch.state.at.data.subarray(2 * i, 2 * i + 2)]).toEqual([action, -action]);
        expect(batch.state.word[i]).toEqual({ i: action });
        expect([batch.hasExtras.logp.data[i], batch.extras.logp.data[i]]).toEqual(action % 2 === 0 ? [1, action] : [0, 0]);
        expect(batch.extras.note[i]).toEqual(action % 2 === 0 ? [action] : null);
      }
    }
  });

  test("into rejects a batch of episodes", () => {
    const buffer = fill(new EpisodicReplayBuffer(), 8, 1);
    const into = buffer.sampleEpisodes(4);
    expectError(
      errorOf(() => buffer.sample(4, { into })),
      TypeError,
      /a batch from this buffer/,
    );
  });

  test("sample and sampleEpisodes reject too large or invalid n, and samples of an empty buffer", () => {
    const buffer = new ReplayBuffer();
    expectError(
      errorOf(() => buffer.sample(1)),
      "EMPTY",
      /append/,
    );
    expect(buffer.sample(0, LIST)).toEqual([]);
    fill(buffer, 3);
    expectError(
      errorOf(() => buffer.sample(4)),
      "TOO_FEW",
      /n must be at most 3/,
    );
    expectError(
      errorOf(() => buffer.sample(-1)),
      RangeError,
    );
    expectError(
      errorOf(() => buffer.sample(1.5)),
      TypeError,
    );
    expect(buffer.sample(0).action.data.length).toBe(0);
    const episodes = fill(new EpisodicReplayBuffer(), 6, 3);
    expectError(
      errorOf(() => episodes.sampleEpisodes(3)),
      "TOO_FEW",
    );
    expectError(
      errorOf(() => episodes.sampleEpisodes(1, -1)),
      RangeError,
      /maxLength/,
    );
    expectError(
      errorOf(() => new EpisodicReplayBuffer().sampleEpisodes(1)),
      "EMPTY",
    );
  });

  test("the same seed and calls draw the same transitions, and another seed draws others", () => {
    const drawn = (seed: number) => {
      const buffer = fill(new PrioritizedReplayBuffer({ seed }), 50);
      return Array.from({ length: 5 }, () => {
        const { action } = buffer.sample(6);
        buffer.updateErrors([...(action.data as Float64Array)].map((a) => a / 50));
        return [...(action.data as Float64Array)];
      });
    };
    expect(drawn(1)).toEqual(drawn(1));
    expect(drawn(1)).not.toEqual(drawn(2));
  });

  test("a batch of episodes is as long as the longest, with zeros after shorter ones", () => {
    const buffer = new EpisodicReplayBuffer({ seed: 1 });
    for (const [from, n] of [
      [0, 3],
      [10, 1],
    ] as const)
      for (let i = 0; i < n; i++) buffer.append({ ...step(from + i, i === n - 1), tag: "x" } as never);
    const { action, lengths, extras, count } = buffer.sampleEpisodes(2);
    const long = lengths[0] === 3 ? 0 : 1;
    expect([count, [...lengths].sort(), action.shape]).toEqual([2, [1, 3], [2, 3]]);
    expect([...action.data.subarray(3 * long, 3 * long + 3)]).toEqual([0, 1, 2]);
    expect([...action.data.subarray(3 - 3 * long, 6 - 3 * long)]).toEqual([10, 0, 0]);
    expect(extras.tag[1 - long]).toEqual(["x", null, null]);
    expect(buffer.sampleEpisodes(2, 2).action.shape).toEqual([2, 2]);
    expect(buffer.sampleEpisodes(1, 0).action.shape).toEqual([1, 0]);
    expect(buffer.sampleEpisodes(1, 0, LIST)).toEqual([[]]);
  });

  test("an episode may be longer than its first window", () => {
    const buffer = fill(new EpisodicReplayBuffer(), 5000);
    expect([buffer.length, buffer.nEpisodes]).toEqual([5000, 1]);
    expect(buffer.sampleEpisodes(1, LIST)[0]?.map(({ action }) => action)).toEqual(Array.from({ length: 5000 }, (_, i) => i));
    const long = fill(new ReplayBuffer({ numSteps: 1200 }), 1500);
    expect(long.length).toBe(1500);
    const [oldest] = long.items();
    expect(oldest?.length).toBe(1200);
  });
});

describe("sample and update", () => {
  test("must alternate, as in PFRL", () => {
    const buffer = fill(new PrioritizedReplayBuffer(), 4);
    expectError(
      errorOf(() => buffer.updateErrors([1])),
      "OUT_OF_TURN",
      /no sample is waiting for errors/,
    );
    const before = buffer.sample(2).keys.slice();
    expect([buffer.waiting, [...buffer.waitingKeys]]).toEqual([true, [...before]]);
    const { beta } = buffer;
    expectError(
      errorOf(() => buffer.sample(1)),
      "OUT_OF_TURN",
      /updateErrors/,
    );
    expectError(
      errorOf(() => buffer.updateErrors([1])),
      RangeError,
      /errors must be 2 numbers/,
    );
    expectError(
      errorOf(() => buffer.updateErrors([1, "2"] as never)),
      TypeError,
      /errors\[1\] must be a number/,
    );
    expectError(
      errorOf(() => buffer.updateErrors("12" as never)),
      TypeError,
      /errors must be an array/,
    );
    expect([buffer.beta, buffer.waiting]).toEqual([beta, true]);
    expect(buffer.updateErrors(Float32Array.of(0.5, 0.25))).toBe(2);
    expectError(
      errorOf(() => buffer.updateErrors([1, 1])),
      "OUT_OF_TURN",
    );
  });

  test("need not alternate if waitPriorityAfterSampling is false", () => {
    const buffer = fill(new PrioritizedReplayBuffer({ waitPriorityAfterSampling: false }), 4);
    buffer.sample(2);
    buffer.sample(3);
    expect(buffer.updateErrors([1, 1, 1])).toBe(3);
    expectError(
      errorOf(() => buffer.updateErrors([1, 1, 1])),
      "OUT_OF_TURN",
    );
  });

  test("updateErrors by key accepts late, repeated and partial updates, and skips evicted items", () => {
    const buffer = fill(new PrioritizedReplayBuffer(4, { alpha: 1, eps: 0, errorMax: null, seed: 2 }), 4);
    const { keys } = buffer.sample(2);
    const [a = 0, b = 0] = keys;
    expect(buffer.updateErrors([3], [a])).toBe(1);
    expect([...buffer.waitingKeys]).toEqual([b]);
    expectError(
      errorOf(() => buffer.sample(1)),
      "OUT_OF_TURN",
    );
    expect(buffer.updateErrors([2, 5], [b, b])).toBe(2);
    expect(buffer.waiting).toBe(false);
    const priorityOf = (key: number) => {
      const { keys: all, priorities } = buffer.priorities();
      return priorities[all.indexOf(key)];
    };
    expect([priorityOf(a), priorityOf(b), buffer.maxPriority]).toEqual([3, 5, 5]);
    fill(buffer, 4);
    const before = buffer.priorities();
    expect(buffer.updateErrors([99, 98], keys)).toBe(0);
    expect([buffer.maxPriority, buffer.priorities()]).toEqual([5, before]);
    expectError(
      errorOf(() => buffer.updateErrors([1], [1, 2])),
      RangeError,
      /keys must be 1 numbers/,
    );
  });

  test("updateErrors rejects errors that yield an invalid priority, and changes nothing", () => {
    const buffer = fill(new PrioritizedReplayBuffer({ eps: 0, errorMin: null, errorMax: null, alpha: 0.5 }), 3);
    buffer.sample(2);
    const before = buffer.priorities();
    for (const errors of [
      [0, 1],
      [1, Number.NaN],
      [Number.POSITIVE_INFINITY, 1],
      [-1, 1],
    ])
      expectError(
        errorOf(() => buffer.updateErrors(errors)),
        RangeError,
        /errors\[[01]\]/,
      );
    expect([buffer.waiting, buffer.priorities()]).toEqual([true, before]);
    expect(buffer.updateErrors([1, 4])).toBe(2);
  });

  test("a rejected sample does not change the next draw", () => {
    const make = () =>
      fill(
        new PrioritizedEpisodicReplayBuffer({ seed: 9, defaultPriorityFunc: ([first]) => (first?.reward ?? 0) % 2 }),
        20,
        2,
      ) as PrioritizedEpisodicReplayBuffer;
    const [one, two] = [make(), make()];
    // The buffer contains ten episodes whose first step is even, so all weights are 0.
    expectError(
      errorOf(() => one.sampleEpisodes(1)),
      "EMPTY",
      /priority above 0/,
    );
    for (const buffer of [one, two]) for (const i of [1, 3, 5]) buffer.append(step(i, true));
    expectError(
      errorOf(() => one.sampleEpisodes(4)),
      "TOO_FEW",
      /at most 3, because there are only 3 items with a priority above 0/,
    );
    expect(one.waiting).toBe(false);
    expect(one.sampleEpisodes(2, LIST)).toEqual(two.sampleEpisodes(2, LIST));
    const memory = new PrioritizedEpisodicReplayBuffer({ normalizeByMax: "memory", defaultPriorityFunc: ([first]) => first?.reward ?? 0 });
    fill(memory, 3, 1);
    expectError(
      errorOf(() => memory.sampleEpisodes(1)),
      RangeError,
      /normalizeByMax must not be "memory"/,
    );
  });

  test("a priority function that throws or returns an invalid priority changes nothing", () => {
    let priority: unknown = Number.NaN;
    const buffer = new PrioritizedEpisodicReplayBuffer({
      defaultPriorityFunc: (episode) => {
        expect(episode.map(({ action }) => action)).toEqual([0, 1]);
        if (priority === "throw") throw new Error("mine");
        return priority as number;
      },
    });
    buffer.append(step(0));
    for (priority of [Number.NaN, -1, "much", Number.POSITIVE_INFINITY]) expect(() => buffer.append(step(1, true))).toThrow(/result of defaultPriorityFunc/);
    priority = "throw";
    expect(() => buffer.append(step(1, true))).toThrow("mine");
    expect([buffer.length, buffer.running().get(0)?.length]).toEqual([0, 1]);
    priority = 2;
    buffer.append(step(1, true));
    expect([buffer.nEpisodes, ...buffer.priorities().priorities]).toEqual([1, 2]);
  });

  test("samples without weights do not change beta", () => {
    const buffer = fill(new PrioritizedEpisodicReplayBuffer({ returnSampleWeights: false }), 4, 2);
    const batch = buffer.sampleEpisodes(1);
    expect([batch.weights, buffer.beta, buffer.waiting]).toEqual([undefined, 0.4, true]);
  });
});
