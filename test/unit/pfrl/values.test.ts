/** Tests that stored values are returned unchanged, in all forms of states, actions and extras. */
import { describe, expect, test, vi } from "vitest";
import { f32, i32, shared, text, u8 } from "../../../src/index.ts";
import { object, PersistentReplayBuffer, ReplayBuffer } from "../../../src/pfrl/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { storeOf } from "../../support/pfrl.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const LIST = { form: "list" } as const;
const step = (state: unknown, more: object = {}) => ({ state, action: 0, reward: 0, nextState: state, ...more });
const first = (buffer: ReplayBuffer) => [...buffer.items()].map(([one]) => one);

describe("forms inferred from the first transition", () => {
  test.each<[string, unknown, unknown]>([
    ["numbers", 1, 1.5],
    ["bigints", 1n, -(2n ** 63n)],
    ["booleans", true, false],
    ["typed arrays", Int16Array.of(1, 2), Int16Array.of(-3, 4)],
    ["arrays of numbers", [1, 2], [0.5, Number.NaN]],
    ["arrays of arrays", [[1], [2]], [[-1], [0.25]]],
    ["frames", [Uint8Array.of(1, 2), Uint8Array.of(3, 4)], [Uint8Array.of(3, 4), Uint8Array.of(5, 6)]],
    ["objects", { a: 1, b: [Float32Array.of(1)] }, { a: -1, b: [Float32Array.of(2)] }],
    ["words", "north", "south"],
    ["mixed tuples", [1, "x", { y: true }], [2, "z", { y: false }]],
    ["maps, sets, dates", new Map([[1, new Set(["a"])]]), new Map([[new Date(5), null]])],
    ["what has no element", new Float32Array(0), []],
    ["null", null, "something"],
    ["bigints that no array has", 2n ** 70n, 3n],
    ["names with dots", { "a.b": 1 }, { "c.d": "x" }],
  ])("are returned unchanged: %s", (_, one, two) => {
    const buffer = new ReplayBuffer();
    const given = [one, two].map((state, i) => ({ state, action: state, reward: i, nextState: state, isStateTerminal: i === 1, memory: state }));
    for (const transition of given) buffer.append(transition);
    // A next state of null is omitted.
    const stored = given.map((transition) => ({ ...transition, nextAction: null }));
    expect(first(buffer)).toEqual(stored);
    expect(
      buffer
        .sample(2, LIST)
        .map(([transition]) => transition?.reward)
        .sort(),
    ).toEqual([0, 1]);
    expect(buffer.sample(2).reward.data.length).toBe(2);
  });

  test("a state of another form is rejected, and changes nothing", () => {
    const buffer = new ReplayBuffer(4, 2);
    buffer.append(step([1, 2], { logp: 0.5 }));
    const before = JSON.stringify([[...buffer.items()], [...buffer.running()]]);
    expectError(
      errorOf(() => buffer.append(step([1, 2, 3]))),
      "SPEC_MISMATCH",
      /[sS]tate must be/,
    );
    expectError(
      errorOf(() => buffer.append(step("x"))),
      "SPEC_MISMATCH",
      /[sS]tate must be/,
    );
    expectError(
      errorOf(() => buffer.append(step([1, 2], { nextState: [1] }))),
      "SPEC_MISMATCH",
      /nextState/,
    );
    expectError(
      errorOf(() => buffer.append({ ...step([1, 2]), reward: "much" } as never)),
      "SPEC_MISMATCH",
      /reward/,
    );
    expectError(
      errorOf(() => buffer.append(step([1, 2], { envId: "new", action: "x" }))),
      "SPEC_MISMATCH",
      /action/,
    );
    expect(JSON.stringify([[...buffer.items()], [...buffer.running()]])).toBe(before);
  });

  test("a rejected first transition determines no form", () => {
    const buffer = new ReplayBuffer();
    expectError(
      errorOf(() => buffer.append({ ...step(1), reward: "x" } as never)),
      "SPEC_MISMATCH",
    );
    buffer.append(step("words now"));
    expect(first(buffer)[0]?.state).toBe("words now");
  });

  test("extras may be omitted, and may first appear in a later transition", () => {
    const buffer = new ReplayBuffer();
    const extras: object[] = [{ a: 1 }, {}, { a: 2, b: "late" }, { a: null, c: [1] }, { a: Number.NaN }];
    for (const extra of extras) buffer.append(step(0, extra));
    expect(first(buffer).map(({ state, action, reward, nextState, nextAction, isStateTerminal, ...rest } = {} as never) => rest)).toEqual(extras);
    expect([...buffer.sample(5).extras.a.data].sort()).toEqual([0, 0, 1, 2, Number.NaN].sort());
    expectError(
      errorOf(() => buffer.append(step(0, { a: "other" }))),
      "SPEC_MISMATCH",
      /a must be f64, .* Pass spec\.extras/,
    );
  });
});

describe("an explicit spec", () => {
  test("determines typed columns, and returns values in the form of their leaves", () => {
    const spec = { state: { image: shared("frames", u8(2, 2), 2), word: object() }, action: i32(), extras: { logp: f32() } } as const;
    const buffer = new ReplayBuffer({ capacity: 3, spec });
    buffer.append({
      state: {
        image: [
          [1, 2, 3, 4],
          [5, 6, 7, 8],
        ],
        word: "a",
      },
      action: 3,
      reward: 1,
      logp: 0.5,
    });
    const batch = buffer.sample(1);
    expect(batch.state.image).toEqual({ data: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), shape: [1, 2, 2, 2] });
    expect(batch.state.word).toEqual(["a"]);
    expect(batch.nextState.word).toEqual([null]);
    expect(batch.action).toEqual({ data: Int32Array.of(3), shape: [1] });
    expect(batch.extras.logp).toEqual({ data: Float32Array.of(0.5), shape: [1] });
    expect(first(buffer as never)[0]?.state).toEqual({ image: [Uint8Array.of(1, 2, 3, 4), Uint8Array.of(5, 6, 7, 8)], word: "a" });
  });

  test.each<[string, object, RegExp]>([
    ["no action", { state: f32() }, /spec must/],
    ["a reward of several numbers", { state: f32(), action: f32(), reward: f32(2) }, /spec\.reward must .*single number/],
    ["an unknown part", { state: f32(), action: f32(), observation: f32() }, /no option "observation"/],
    ["no leaf", { state: 3, action: f32() }, /spec.state must be a leaf/],
  ])("is rejected if it has %s", (_, spec, says) => {
    expect(() => new ReplayBuffer({ spec } as never)).toThrow(says);
  });

  test("rejects unknown extras, and integers that are out of range", () => {
    const buffer = new ReplayBuffer({ spec: { state: u8(), action: u8() } });
    expectError(
      errorOf(() => buffer.append(step(1, { logp: 1 }))),
      "SPEC_MISMATCH",
      /extras must/,
    );
    expectError(
      errorOf(() => buffer.append(step(256))),
      "INVALID_DATA",
      /[sS]tate must be/,
    );
    expect(buffer.length).toBe(0);
  });
});

describe("object columns", () => {
  class Board {}
  const circle: unknown[] = [];
  circle.push(circle);

  test.each<[string, unknown, RegExp]>([
    ["a function", { f: () => 1 }, /state\.f must be .*, got a function/],
    ["a symbol", [Symbol("x"), "y"], /state\[0\] must be/],
    ["an instance of a class", { deep: [new Board(), ""] }, /state\.deep\[0\] must be .*Board/],
    ["a circle", circle, /cyclic|nested/],
    ["an instance", new Board(), /state must be .*Board/],
  ])("reject %s, and name its path", (_, state, says) => {
    const buffer = new ReplayBuffer({ spec: { state: object(), action: f32() } });
    expectError(
      errorOf(() => buffer.append({ state, action: 0, reward: 0 })),
      TypeError,
      says,
    );
    expect([buffer.length, buffer.running().size]).toEqual([0, 0]);
  });

  test("return separate copies for each draw, without encoding or decoding text again", () => {
    const given = () => ({
      words: ["a", null, undefined, -0, Number.NaN, 2n ** 70n, true],
      typed: [Float32Array.of(1, 2), new BigInt64Array([3n]), Uint8Array.of(4).buffer],
      kept: new Map<unknown, unknown>([[{ key: 1 }, new Set([new Date(5), "x"])]]),
      own: JSON.parse('{"__proto__": [1]}'),
    });
    const buffer = new ReplayBuffer({ spec: { state: object(), action: f32() } });
    buffer.append({ state: given(), action: 0, reward: 0, nextState: "end", note: undefined });
    const [encodes, decodes] = [vi.spyOn(TextEncoder.prototype, "encodeInto"), vi.spyOn(TextDecoder.prototype, "decode")];
    for (let i = 0; i < 2; i++) {
      const states = [buffer.sample(1).state[0], buffer.sample(1, LIST)[0]?.[0]?.state] as ReturnType<typeof given>[];
      for (const state of states) {
        expect(state).toEqual(given());
        expect(Object.keys(state.own)).toEqual(["__proto__"]);
        state.words.length = 0;
        (state.typed[0] as Float32Array)[0] = 9;
        state.kept.clear();
        state.own.more = 1;
      }
    }
    expect([encodes.mock.calls.length, decodes.mock.calls.length]).toEqual([0, 0]);
    vi.restoreAllMocks();
  });

  test("release objects with their rows, even while an environment is idle", () => {
    const buffer = new ReplayBuffer(10, 3);
    buffer.append(step("kept", { envId: "still" }));
    for (let i = 0; i < 2000; i++) buffer.append(step(`s${i}`, { isStateTerminal: i % 50 === 49 }));
    const objects = storeOf(buffer).contents?.steps.engine.objectStore;
    expect(objects?.size).toBeLessThanOrEqual(40);
    expect(buffer.running().get("still")?.[0]?.state).toBe("kept");
    // Reused rows must not show their former contents.
    const numbers = new ReplayBuffer(3);
    for (let i = 0; i < 20; i++) numbers.append(step(i, i % 2 ? { tag: i } : {}));
    expect(first(numbers).map((one) => one?.tag)).toEqual([17, undefined, 19]);
  });
});

test("constructors and append reject the Python names of PFRL, and suggest the names to use", () => {
  const buffer = new ReplayBuffer();
  for (const [name, ours] of [
    ["next_state", "nextState"],
    ["is_state_terminal", "isStateTerminal"],
    ["env_id", "envId"],
    ["next_action", "nextAction"],
  ])
    expectError(
      errorOf(() => buffer.append({ ...step(1), [name as string]: 1 })),
      TypeError,
      new RegExp(`${name} must be renamed to ${ours}`),
    );
  expectError(
    errorOf(() => buffer.append({ ...step(1), isStateTerminal: 1 } as never)),
    TypeError,
    /isStateTerminal must be a boolean/,
  );
  expectError(
    errorOf(() => buffer.append(undefined as never)),
    TypeError,
    /transition/,
  );
  expectError(
    errorOf(() => buffer.append({ action: 1, reward: 1 } as never)),
    TypeError,
    /state (must be given|is required)/,
  );
  expect(buffer.length).toBe(0);
});

test("text leaves keep their values in lists, batches, logs and files", async () => {
  const spec = { state: { at: text({ maxBytes: 80 }) }, action: i32(), extras: { words: text({ maxBytes: 4 }, 2), any: object() } };
  const said = (i: number) => ({ at: `s${i}€` });
  const one = (i: number) => ({ state: said(i), action: i, reward: 1, nextState: said(i + 1), ...(i % 2 ? { words: ["a", `${i}`], any: { i } } : {}) });
  const directory = memory();
  const log = new PersistentReplayBuffer(directory, 10, { spec, durability: "manual" });
  const buffer = new ReplayBuffer(10, { spec });
  for (let i = 0; i < 15; i++) for (const each of [buffer, log]) each.append(one(i));
  for (const each of [buffer, log]) {
    expect([...each.items()].flat()).toEqual(Array.from({ length: 10 }, (_, k) => ({ nextAction: null, isStateTerminal: false, ...one(k + 5) })));
    const { state, nextState, extras, action } = each.sample(10);
    const order = [...action.data];
    expect([state.at.data, nextState.at.data]).toEqual([order.map((i) => said(i).at), order.map((i) => said(i + 1).at)]);
    expect(extras.words).toEqual({ data: order.flatMap((i) => (i % 2 ? ["a", `${i}`] : ["", ""])), shape: [10, 2] });
  }
  expectError(
    errorOf(() => buffer.append({ ...one(1), words: ["a", "too long"] })),
    "INVALID_DATA",
    /^words must .*\(the maxBytes of its leaf\), got 8 bytes/,
  );
  const there = [...log.items()];
  log.close();
  expect([...new PersistentReplayBuffer(directory, 10, { spec, durability: "manual" }).items()]).toEqual(there);
  const file = { directory: memory(), file: "saved" };
  buffer.save(file);
  const loaded = new ReplayBuffer(10, { spec });
  loaded.load(file);
  expect([...loaded.items()]).toEqual(there);
  expectError(
    errorOf(() => new ReplayBuffer(10, { spec: { ...spec, reward: text({ maxBytes: 4 }) } as never })),
    RangeError,
    /^spec\.reward must .*single number/,
  );
});
