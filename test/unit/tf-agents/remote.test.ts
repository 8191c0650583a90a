/** Tests that observers write the same items across a port as to a local Replay, and continue with writers that `Replay.open` restores. */
import { describe, expect, test } from "vitest";
import { f32, fifo, i32, Replay } from "../../../src/index.ts";
import { memory } from "../../../src/storage/index.ts";
import {
  drive,
  first,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbTrajectorySequenceObserver,
  StepType,
  trajectorySpec,
} from "../../../src/tf-agents/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { some } from "../../support/size.ts";
import { pair } from "../remote/support.ts";

const spec = trajectorySpec({ observation: f32(2), action: i32() });
const tables = { t: { maxSize: 500, sampler: fifo() }, u: { maxSize: 500, sampler: fifo() } };
const options = { spec, tables, seed: 1 };

/** Yields episodes of the given lengths, each with a boundary step. */
function* steps(...lengths: readonly number[]) {
  let n = 0;
  for (const length of lengths) {
    for (let k = 0; k <= length; k++, n++) {
      yield {
        stepType: k === 0 ? StepType.FIRST : k === length ? StepType.LAST : StepType.MID,
        observation: [n, -n],
        action: n,
        policyInfo: {},
        nextStepType: k + 1 === length ? StepType.LAST : k === length ? StepType.FIRST : StepType.MID,
        reward: n / 2,
        discount: 1,
      };
    }
  }
}

/** Returns the actions and the priority of each item. */
function itemsOf<N extends "t" | "u">(replay: Replay<typeof spec, N>, name: N) {
  const table = replay.table(name);
  const batch = table.sample(table.size, { replacement: false }) as never as {
    info: { priorities: ArrayLike<number>; lengths?: ArrayLike<number> };
    steps: { action: { data: ArrayLike<number> } };
  };
  return [Array.from(batch.steps.action.data), Array.from(batch.info.priorities)];
}

const OBSERVERS = [
  ["windows, padded", (c: never) => new ReverbAddTrajectoryObserver(c, { tableName: ["t", "u"], sequenceLength: 3, strideLength: 2, padEndOfEpisodes: true })],
  ["windows", (c: never) => new ReverbAddTrajectoryObserver(c, { tableName: "t", sequenceLength: 3, priority: 4 })],
  ["windows over boundaries", (c: never) => new ReverbTrajectorySequenceObserver(c, { tableName: "t", sequenceLength: 4, strideLength: 3 })],
  ["episodes", (c: never) => new ReverbAddEpisodeObserver(c, { tableName: "u", maxSequenceLength: 16, priority: 2 })],
] as const;

describe("an observer across a port", () => {
  test.each(some(OBSERVERS, 2))("writes the same items as a local observer: %s", async (_, make) => {
    const { replay, writer } = await pair(options, { keep: 16 }, {});
    const home = new Replay(options);
    const [far, near] = [make(writer as never), make(home as never)];
    for (const step of steps(5, 3, 1, 9, 2, 12)) {
      await near(step as never);
      await far(step as never);
    }
    await writer.flush();
    for (const name of ["t", "u"] as const) {
      expect(replay.tables[name].size).toBe(home.tables[name].size);
      if (home.tables[name].size > 0) expect(itemsOf(replay as never, name as never)).toEqual(itemsOf(home as never, name as never));
    }
  });

  test.each(some(OBSERVERS, 1))("waits if too many steps are in flight: %s", async (_, make) => {
    const { replay, writer } = await pair(options, { keep: 16, maxInFlight: 3 }, {});
    const home = new Replay(options);
    const [far, near] = [make(writer as never), make(home as never)];
    let waited = 0;
    for (const step of steps(5, 3, 9)) {
      await near(step as never);
      const promise = far(step as never);
      if (promise !== undefined) waited++;
      await promise;
    }
    expect(waited).toBeGreaterThan(2);
    await writer.flush();
    expect(replay.stats().tables).toMatchObject({ t: { size: home.tables.t.size }, u: { size: home.tables.u.size } });
  });

  test("is rejected if the other end keeps too few steps, or another observer uses the writer", async () => {
    const { writer } = await pair(options, { keep: 4 }, {});
    const make = (sequenceLength: number, tableName = "t") => new ReverbAddTrajectoryObserver(writer as never, { tableName, sequenceLength });
    expectError(
      errorOf(() => make(5)),
      RangeError,
      /^keep of acceptWriter.*at least 5/,
    );
    expectError(
      errorOf(() => make(2, "no")),
      "NOT_FOUND",
    );
    const one = make(4);
    expectError(
      errorOf(() => make(2)),
      "OUT_OF_TURN",
      /remote writer .*observer/,
    );
    one.close();
    make(2);
  });

  test("is rejected for several lanes", async () => {
    const { writer } = await pair(options, {}, { lanes: 2 });
    expectError(
      errorOf(() => new ReverbAddTrajectoryObserver(writer as never, { tableName: "t", sequenceLength: 2 })),
      RangeError,
      /lanes of the remote writer must be 1/,
    );
  });

  test("lets drive write at the pace of the other end", async () => {
    const { replay, writer } = await pair(options, { keep: 8, maxInFlight: 4 }, {});
    const observer = new ReverbAddTrajectoryObserver(writer as never, { tableName: "t", sequenceLength: 2 });
    let t = 0;
    const environment = {
      reset: () => [0, 0],
      step: () => ({ observation: [++t, t], reward: 1, terminated: t % 10 === 0, truncated: false }),
    };
    await drive(environment, () => 1, [observer], { steps: 100 });
    await writer.flush();
    expect(replay.tables.t.size).toBeGreaterThan(90);
    expect(first).toBeTypeOf("function");
  });
});

describe("observer.resume", () => {
  test.each(some(OBSERVERS, 1))("continues in the middle of an episode as without an interruption: %s", async (_, make) => {
    const home = new Replay(options);
    const whole = make(home as never);
    const dir = memory();
    let replay = await Replay.open({ ...options, dir });
    let observer = make(replay as never);
    let n = 0;
    for (const step of steps(5, 3, 1, 9, 2, 12)) {
      whole(step as never);
      observer(step as never);
      if (++n % 4 !== 0) continue;
      await replay.flush();
      replay.dispose();
      replay = (await Replay.open<typeof spec, "t" | "u">({ dir })) as never;
      const [writer] = replay.writers;
      observer = make(replay as never);
      const { cachedSteps } = whole;
      observer.resume(writer as never);
      expect([observer.cachedSteps, replay.writers.length]).toEqual([cachedSteps, 1]);
    }
    for (const name of ["t", "u"] as const) {
      expect(replay.tables[name].size).toBe(home.tables[name].size);
      if (home.tables[name].size > 0) expect(itemsOf(replay as never, name as never)).toEqual(itemsOf(home as never, name as never));
    }
  });

  test("rejects a writer with other options", () => {
    const replay = new Replay(options);
    const observer = new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength: 3 });
    for (const other of [replay.writer(), replay.writer({ items: [{ table: "t", length: 2 }] }), replay.writer({ items: [{ table: "u", length: 3 }] })]) {
      expectError(
        errorOf(() => observer.resume(other as never)),
        "SPEC_MISMATCH",
        /writer must be a writer with the options of this observer: 1 lane, keep 3, rules .* t 3\/1\/1/,
      );
    }
    expect(replay.writers.length).toBe(4);
    expectError(
      errorOf(() => observer.resume(replay.writers[9] as never)),
      TypeError,
      /writer is required: a writer that Replay.open restored/,
    );
  });
});
