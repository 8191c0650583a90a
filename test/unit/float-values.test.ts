/** Tests extreme floats: finite numbers that overflow f32 are rejected, infinities are accepted, and NaN causes one warning. */
import { describe, expect, test } from "vitest";
import { f32, f64, Replay, shared } from "../../src/index.ts";
import { PrioritizedReplayBuffer } from "../../src/pfrl/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { LocalClient, TFUniformReplayBuffer } from "../../src/tf-agents/index.ts";
import { errorOf, expectError, expectRefused } from "../support/refused.ts";

const spec = { one: f32(), line: f32(3), square: f32(2, 2), wide: f64(2), stack: shared("s", f32(2), 2) } as const;
const good = () => ({
  one: 1,
  line: [1, 2, 3],
  square: [
    [1, 2],
    [3, 4],
  ],
  wide: [1, 2],
  stack: [
    [1, 2],
    [3, 4],
  ],
});
type Step = ReturnType<typeof good>;

/** The largest f32, and the smallest number that rounds to infinity. */
const MAX = 3.4028234663852886e38;
const BEYOND = 3.4028235677973366e38;
const FAR = [1e39, -1e39, BEYOND, -BEYOND, Number.MAX_VALUE, 3.5e38];

/** The places that a number may have in f32 leaves, each with a function that returns a step with a number at that place. */
const placed: [string, (x: number) => Partial<Record<keyof Step, unknown>>][] = [
  ["a number", (one) => ({ one })],
  ["an array", (x) => ({ line: [1, x, 3] })],
  [
    "an array in an array",
    (x) => ({
      square: [
        [1, 2],
        [x, 4],
      ],
    }),
  ],
  ["a flat array of a square", (x) => ({ square: [1, 2, 3, x] })],
  [
    "a frame of a stack",
    (x) => ({
      stack: [
        [1, 2],
        [3, x],
      ],
    }),
  ],
];

function made(logger: ((message: string) => void) | null = null) {
  const replay = new Replay({ spec, tables: { t: { maxSize: 500 } }, logger });
  return { replay, writer: replay.writer({ items: [{ table: "t", length: 1 }] }) };
}

describe.each(placed)("a finite number that overflows f32, as %s", (_, at) => {
  test.each(FAR)("%d is rejected in steps, columns, final observations and lanes", (x) => {
    const { replay, writer } = made();
    writer.append(good() as never);
    const step = { ...good(), ...at(x) } as never;
    const says = [/must be finite as f32, from -3\.4028234663852886e\+38 to/, new RegExp(`got ${String(x).replace("+", "\\+")}`)];
    expectRefused(replay, () => writer.append(step), "INVALID_DATA", ...says);
    const columns = Object.fromEntries(Object.entries(step).map(([name, value]) => [name, [(good() as never)[name], value]]));
    expectRefused(replay, () => writer.appendColumns(columns as never), "INVALID_DATA", ...says);
    expectRefused(replay, () => writer.endEpisode({ final: at(x) as never, terminated: true }), "INVALID_DATA", /^final\./, ...says);
    const lanes = replay.writer({ lanes: 2 });
    expectRefused(replay, () => lanes.append(columns as never), "INVALID_DATA", ...says);
  });

  test("infinities and numbers that round to the largest f32 are stored", () => {
    const { replay, writer } = made();
    for (const x of [MAX, -MAX, 3.4028235e38, 3.40282356e38, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      writer.append({ ...good(), ...at(x) } as never);
    }
    expect(replay.table("t").size).toBe(6);
    const { steps } = replay.table("t").sample(6, { replacement: false });
    const all = Object.values(steps as never as Record<string, { data: Float32Array }>).flatMap(({ data }) => [...data]);
    expect(all.filter((x) => x === Number.POSITIVE_INFINITY).length).toBe(1);
    expect(all.filter((x) => x === MAX).length).toBe(3);
  });
});

test("f64 stores numbers beyond the range of f32", () => {
  const { replay, writer } = made();
  writer.append({ ...good(), wide: [1e39, -1e300] } as never);
  expect([...replay.table("t").sample(1).steps.wide.data]).toEqual([1e39, -1e300]);
});

test("assigning an array to a staged leaf rejects numbers that overflow f32", () => {
  const { replay, writer } = made();
  const { staged } = writer;
  expectRefused(replay, () => Object.assign(staged, { line: [1, 1e39, 2] }), "INVALID_DATA", /^line must be finite as f32/);
});

test("clients and buffers reject numbers that overflow f32", () => {
  const small = { x: f32(2) };
  const replay = new Replay({ spec: small, tables: { t: { maxSize: 9 } } });
  const far = { x: [1, 1e39] };
  expectRefused(replay, () => new LocalClient(replay).insert(far as never, { t: 1 }), "INVALID_DATA", /^x must be finite as f32/);
  const uniform = new TFUniformReplayBuffer(small, { batchSize: 1, maxLength: 3 });
  expectError(
    errorOf(() => uniform.addBatch({ x: [[1, 1e39]] } as never)),
    "INVALID_DATA",
    /^x must be finite as f32/,
  );
  const pfrl = new PrioritizedReplayBuffer(9, { spec: { state: f32(2), action: f32(1) } } as never);
  const step = { state: [1, 1e39], action: [0], reward: 1, nextState: [1, 2], isStateTerminal: false };
  expect(() => pfrl.append(step as never)).toThrow(/1e\+39/);
});

test("a remote writer rejects numbers that overflow f32, and the Replay logs its NaN", async () => {
  const said: string[] = [];
  const { replay } = made((message) => said.push(message));
  const { port1, port2 } = new MessageChannel();
  const [, actor] = await Promise.all([replay.acceptWriter(port1, { items: [{ table: "t", length: 1 }] }), remoteWriter(port2, { spec })]);
  expectError(
    errorOf(() => actor.append({ ...good(), line: [1, 1e39, 3] } as never)),
    "INVALID_DATA",
    /^line must be finite as f32/,
  );
  actor.append({ ...good(), line: [1, Number.NaN, 3] } as never);
  await actor.flush();
  expect(said).toEqual([expect.stringMatching(/^reprise: line contains NaN\b/)]);
  await actor.close();
  replay.dispose();
});

describe("NaN", () => {
  const seen = (play: (world: ReturnType<typeof made>) => void) => {
    const said: string[] = [];
    const world = made((message) => said.push(message));
    play(world);
    return { said, count: world.replay.stats().warnings.nanValues };
  };
  const cases: [string, string, (world: ReturnType<typeof made>) => void][] = [
    ["a number", "one", ({ writer }) => writer.append({ ...good(), one: Number.NaN } as never)],
    ["an array", "line", ({ writer }) => writer.append({ ...good(), line: [1, Number.NaN, 3] } as never)],
    ["a typed array", "line", ({ writer }) => writer.append({ ...good(), line: Float32Array.of(1, 2, Number.NaN) } as never)],
    ["f64", "wide", ({ writer }) => writer.append({ ...good(), wide: Float64Array.of(Number.NaN, 2) } as never)],
    [
      "nested arrays",
      "square",
      ({ writer }) =>
        writer.append({
          ...good(),
          square: [
            [1, 2],
            [3, Number.NaN],
          ],
        } as never),
    ],
    [
      "a frame of a stack",
      "stack",
      ({ writer }) =>
        writer.append({
          ...good(),
          stack: [
            [1, 2],
            [3, Number.NaN],
          ],
        } as never),
    ],
    [
      "columns",
      "line",
      ({ writer }) =>
        void writer.appendColumns({
          one: [1, 2],
          line: Float32Array.of(1, 2, 3, 4, Number.NaN, 6),
          square: new Float32Array(8),
          wide: new Float64Array(4),
          stack: new Float32Array(8),
        } as never),
    ],
    [
      "the final observation",
      "final.one",
      ({ writer }) => {
        writer.append(good() as never);
        writer.endEpisode({ final: { ...good(), one: Number.NaN } as never, terminated: true });
      },
    ],
    [
      "staged values",
      "line",
      ({ writer }) => {
        const { staged } = writer;
        (staged.line as Float32Array)[1] = Number.NaN;
        writer.append();
      },
    ],
  ];

  test.each(cases)("as %s is stored, and logs a warning that names the leaf", (_, leaf, play) => {
    const { said, count } = seen(play);
    expect(said).toEqual([expect.stringMatching(new RegExp(`^reprise: ${leaf.replace(".", "\\.")} contains NaN\\b`))]);
    expect(count).toBe(1);
  });

  test("is logged once, and counted every time", () => {
    const { said, count } = seen((world) => {
      for (let i = 0; i < 3; i++) for (const [, , play] of cases.slice(0, 7)) play(world);
    });
    expect([said.length, count]).toEqual([1, 21]);
  });

  test("other values, including infinities, log no warning", () => {
    const { said } = seen(({ writer }) => {
      writer.append(good() as never);
      writer.append({ ...good(), one: Number.POSITIVE_INFINITY, line: Float32Array.of(1, -1 / 0, 1 / 0) } as never);
      writer.append({ ...good(), one: 1e39 - 1e39 } as never);
    });
    expect(said).toEqual([]);
  });

  test("is found within 1,024 steps in a typed array that is reused", () => {
    for (const place of [0, 1, 17, 39]) {
      const said: string[] = [];
      const replay = new Replay({ spec: { image: f32(40) }, tables: { t: { maxSize: 9 } }, logger: (message) => said.push(message) });
      const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
      const image = new Float32Array(40);
      for (let t = 0; t < 200; t++) writer.append({ image });
      expect(said).toEqual([]);
      image[place] = Number.NaN;
      for (let t = 0; t < 1024; t++) writer.append({ image });
      expect(said.length).toBe(1);
    }
  });

  test("a logger that appends a step runs after the current step is stored", () => {
    let replay: Replay | undefined;
    const logger = () => void replay?.writers[0]?.append({ x: 7 });
    const own = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 9 } }, logger });
    replay = own as never;
    const writer = own.writer({ items: [{ table: "t", length: 1 }] });
    writer.append({ x: Number.NaN });
    expect(own.table("t").size).toBe(2);
  });
});
