/** Tests observers and clients across a restart: named observers and clients continue, and restarts must not accumulate writers. */
import { describe, expect, test } from "vitest";
import { f32, fifo, i32, Replay } from "../../../src/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { memory } from "../../../src/storage/index.ts";
import {
  LocalClient,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbTrajectorySequenceObserver,
  StepType,
  trajectorySpec,
} from "../../../src/tf-agents/index.ts";
import { bytesOf, errorOf, expectError } from "../../support/refused.ts";
import { some } from "../../support/size.ts";
import { pair } from "../remote/support.ts";

const spec = trajectorySpec({ observation: f32(), action: i32() });
const tables = { t: { maxSize: 500, sampler: fifo() }, u: { maxSize: 500, sampler: fifo() } };
const options = { spec, tables, seed: 1 } as const;

function* steps(...lengths: readonly number[]) {
  let n = 0;
  for (const length of lengths)
    for (let k = 0; k <= length; k++, n++) {
      const stepType = k === 0 ? StepType.FIRST : k === length ? StepType.LAST : StepType.MID;
      const nextStepType = k + 1 === length ? StepType.LAST : k === length ? StepType.FIRST : StepType.MID;
      yield { stepType, observation: n, action: n, policyInfo: {}, nextStepType, reward: n / 2, discount: 1 };
    }
}

function itemsOf(replay: Replay, name: "t" | "u"): unknown {
  const table = replay.table(name);
  if (table.size === 0) return [];
  const { steps, info } = table.sample(table.size, { replacement: false }) as never as {
    steps: { action: { data: Int32Array } };
    info: { priorities: Float64Array };
  };
  return [[...steps.action.data], [...info.priorities]];
}

const OBSERVERS = [
  [
    "windows",
    (c: never, own: object) =>
      new ReverbAddTrajectoryObserver(c, { tableName: ["t", "u"], sequenceLength: 3, strideLength: 2, padEndOfEpisodes: true, ...own }),
  ],
  [
    "windows over boundaries",
    (c: never, own: object) => new ReverbTrajectorySequenceObserver(c, { tableName: "t", sequenceLength: 4, strideLength: 3, ...own }),
  ],
  ["episodes", (c: never, own: object) => new ReverbAddEpisodeObserver(c, { tableName: "u", maxSequenceLength: 16, priority: 2, ...own })],
] as const;

describe("an observer with a name", () => {
  test.each(some(OBSERVERS, 1))("continues in the middle of an episode with one writer and no warning: %s", async (_, make) => {
    const home = new Replay(options);
    const whole = make(home as never, {});
    const dir = memory();
    const said: string[] = [];
    const open = () => Replay.open({ ...options, dir, logger: (message: string) => said.push(message) });
    let replay = await open();
    let observer = make(replay as never, { name: "first" });
    let n = 0;
    for (const step of steps(5, 3, 1, 9, 2, 12)) {
      whole(step as never);
      observer(step as never);
      if (++n % 4 !== 0) continue;
      replay.dispose();
      replay = await open();
      observer = make(replay as never, { name: "first" });
      expect([observer.cachedSteps, replay.writers.length]).toEqual([whole.cachedSteps, 1]);
    }
    for (const name of ["t", "u"] as const) expect(itemsOf(replay as never, name)).toEqual(itemsOf(home as never, name));
    expect(said).toEqual([]);
  });

  test("can be closed and reopened, and shares its name with no other observer", () => {
    const replay = new Replay(options);
    const observer = new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 2, name: "one" });
    expectError(
      errorOf(() => new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 2, name: "one" })),
      "OUT_OF_TURN",
      /got "one"/,
    );
    observer.close();
    observer.open();
    expect(replay.writers.map(({ options }) => options.name)).toEqual(["one"]);
  });

  test("is rejected if its options differ from those of its writer", () => {
    const replay = new Replay(options);
    new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 2, name: "one" });
    const copy = Replay.restore(bytesOf(replay), { logger: null });
    expectError(
      errorOf(() => new ReverbAddTrajectoryObserver(copy as never, { tableName: "t", sequenceLength: 3, name: "one" })),
      "SPEC_MISMATCH",
      /^keep must .*\b2\b.*"one"/,
    );
  });

  test("is rejected if the tables are remote", async () => {
    const { writer } = await pair(options, { keep: 8 }, {});
    expectError(
      errorOf(() => new ReverbAddTrajectoryObserver(writer as never, { tableName: "t", sequenceLength: 2, name: "one" })),
      "UNSUPPORTED",
      /^name .*got "one".*acceptWriter/,
    );
    const client = new ReverbClient("127.0.0.1:1", { spec });
    expectError(
      errorOf(() => new ReverbAddTrajectoryObserver(client as never, { tableName: "t", sequenceLength: 2, name: "one" })),
      "UNSUPPORTED",
      /name is not supported with a Reverb server/,
    );
    client.close();
  });
});

describe("an observer without a name", () => {
  async function restarted() {
    const dir = memory();
    const replay = await Replay.open({ ...options, dir });
    const observer = new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 3 });
    for (const step of [...steps(9)].slice(0, 4)) observer(step);
    replay.dispose();
    const said: string[] = [];
    const again = await Replay.open({ ...options, dir, logger: (message: string) => said.push(message) });
    return { again, said, next: new ReverbAddTrajectoryObserver(again, { tableName: "t", sequenceLength: 3 }) };
  }
  const [, , , , fifth] = [...steps(9)];

  test("causes no warning if it resumes the existing writer", async () => {
    const { again, said, next } = await restarted();
    next.resume(again.writers[0] as never);
    next(fifth as never);
    expect([again.writers.length, next.cachedSteps, again.tables.t.size, said]).toEqual([1, 5, 3, []]);
  });

  test("causes one warning at its first step if it does not resume", async () => {
    const { again, said, next } = await restarted();
    next(fifth as never);
    next(fifth as never);
    expect(again.writers.length).toBe(2);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/1 writer of an earlier run is still open and unnamed/);
  });

  test("rejects steps if it is closed before its first step", async () => {
    const { again, next } = await restarted();
    next.close();
    expectError(
      errorOf(() => next(fifth as never)),
      "CLOSED",
      /this observer was closed/,
    );
    next.open();
    next(fifth as never);
    expect([again.writers.length, next.cachedSteps]).toEqual([2, 1]);
  });
});

test("client.insert keeps one writer per set of tables and fields across restarts", async () => {
  const dir = memory();
  for (let run = 1; run <= 5; run++) {
    const said: string[] = [];
    const replay = await Replay.open({ spec: { a: i32(), b: f32() }, tables, dir, logger: (message) => said.push(message) });
    // Two clients of one Replay belong to the same script.
    for (const client of [new LocalClient(replay), new LocalClient(replay)]) {
      client.insert({ a: run, b: 1 }, { t: 1, u: 2 });
      client.insert({ a: run }, { t: 1 });
    }
    expect([replay.writers.length, replay.tables.t.size, said]).toEqual([2, 4 * run, []]);
    replay.dispose();
  }
});
