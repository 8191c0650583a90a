/** Tests the ends of episodes across a port: the transitions must equal those of a local writer with the same calls. */
import { describe, expect, test } from "vitest";
import { f32, fifo, i32, prioritized, queueLimiter, Replay, type Table, text } from "../../../src/index.ts";
import { expectAlike } from "../../support/alike.ts";
import { TestRandom } from "../../support/random.ts";
import { expectError } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";
import { CHANNELS, pairOver } from "./support.ts";

const spec = { observation: f32(2), action: i32(), reward: f32(), name: text({ maxBytes: 6 }) };
const tables = { memory: { maxSize: 60, sampler: prioritized(0.6) }, runs: { maxSize: 40, sampler: fifo() } };
const items = [
  { table: "memory", nStep: 3 },
  { table: "runs", nStep: 1, priority: 2 },
] as const;

const stepAt = (k: number) => ({ observation: [k, -k], action: k, reward: k / 4, name: `s${k % 50}` });
const finalAt = (k: number) => [{ observation: [k, 0.5] }, { observation: [k, 1], name: "end" }, stepAt(k)][k % 3];

function diceOf(seed: number): (sides: number) => number {
  const random = new TestRandom(seed);
  return (sides) => random.below(sides);
}

/** Checks that items have the same keys, steps, priorities and draws. The bytes may differ, because blocks reuse rows later than single steps. */
function expectSame(a: { tables: object; stats(): object }, b: typeof a): void {
  const seen = [a, b].map(({ tables }) =>
    (Object.values(tables) as Table[]).map((table) => {
      const stats = table.stats();
      if (table.size === 0) return stats;
      const all = table.sample(table.size, { replacement: false, mask: true });
      const drawn = table.sample(20, { mask: true });
      return [all, drawn].map(({ info, steps, mask }) => ({ stats, info, steps, mask })) as unknown;
    }),
  );
  expectAlike(seen[1], seen[0]);
}

/** Makes the same call on both writers. Both must return, or throw the same error. */
async function both(calls: readonly [() => unknown, () => unknown]): Promise<void> {
  const answers = [];
  for (const call of calls) {
    try {
      const given = call();
      await given;
      answers.push("taken");
    } catch (error) {
      answers.push(`${(error as Error).constructor.name}: ${(error as Error).message}`);
    }
  }
  expect(answers[1]).toBe(answers[0]);
}

describe.each(CHANNELS)("episodes across a %s", (channel) => {
  const pair = pairOver(channel);

  test.each([...Array(scaled(20, 1)).keys()])("equal those of a local writer (seed %i)", async (seed) => {
    const calls = scaled(300, 150);
    const dice = diceOf(seed);
    const options = { spec, tables, seed };
    const { replay, writer } = await pair(options, { items, maxInFlight: 1 + dice(40) });
    const home = new Replay(options);
    const own = home.writer({ items });
    for (let k = 0; k < calls; k++) {
      const at = dice(12);
      if (at < 7) await both([() => own.append(stepAt(k)), () => writer.append(stepAt(k))]);
      else if (at === 7) {
        const terminated = dice(2) === 1;
        const end = { final: terminated && dice(2) === 1 ? undefined : finalAt(k), terminated } as never;
        await both([() => own.endEpisode(end), () => writer.endEpisode(end)]);
      } else if (at === 8) {
        const length = 1 + dice(4);
        await both([() => own.createItem("runs", { length, priority: k }), () => writer.createItem("runs", { length, priority: k })]);
      } else if (at === 9) {
        await both([() => own.endEpisode({ final: { nothing: 1 } } as never), () => writer.endEpisode({ final: { nothing: 1 } } as never)]);
        await both([() => own.endEpisode(), () => writer.endEpisode()]);
        await both([() => own.endEpisode({ terminated: false }), () => writer.endEpisode({ terminated: false })]);
        await both([() => own.append({ ...stepAt(k), reward: Number.NaN }), () => writer.append({ ...stepAt(k), reward: Number.NaN })]);
      } else if (at === 10) {
        const n = 1 + dice(9);
        const rows = Array.from({ length: n }, (_, i) => stepAt(k + i));
        const columns = {
          observation: rows.map((r) => r.observation),
          action: rows.map((r) => r.action),
          reward: rows.map((r) => r.reward),
          name: rows.map((r) => r.name),
        };
        const terminated = rows.map(() => dice(6) === 0);
        const truncated = rows.map(() => dice(6) === 0);
        const ended = rows.filter((_, i) => terminated[i] || truncated[i]).length;
        const final = { observation: Array.from({ length: ended }, (_, i) => [k, i]), name: Array.from({ length: ended }, (_, i) => `f${i}`) };
        const priorities = dice(2) === 1 ? { memory: rows.map(() => dice(9)) } : undefined;
        const block = { terminated, truncated, final: ended > 0 ? final : undefined, priorities } as never;
        await both([() => void own.appendColumns(columns as never, block), () => writer.appendColumns(columns as never, block)]);
      } else {
        const wrong = [{ ends: [1] }, { truncated: [1] }, { priorities: { x: [1] } }, { terminated: [1, 0] }, { final: { observation: [[1, 2]] } }][
          dice(5)
        ] as never;
        const columns = { observation: [[1, 2]], action: [1], reward: [1], name: ["a"] };
        await both([() => void own.appendColumns(columns, wrong), () => writer.appendColumns(columns, wrong)]);
        await both([() => void own.appendColumns({ ...columns, reward: [Infinity] }), () => writer.appendColumns({ ...columns, reward: [Infinity] })]);
      }
      expect([writer.length, writer.episodeSteps]).toEqual([own.length, own.episodeSteps]);
    }
    await writer.flush();
    expectSame(replay, home);
    // Closing the writers truncates their open episodes.
    await writer.close();
    own.close();
    expectSame(replay, home);
  });

  test.each((["nextStep", "sameStep", "disabled"] as const).flatMap((autoreset) => [...Array(scaled(8, 1)).keys()].map((seed) => [autoreset, seed] as const)))(
    "equal those of a local writer with several lanes, autoreset %s (seed %i)",
    async (autoreset, seed) => {
      const dice = diceOf(seed + 100);
      const LANES = 3;
      const options = { spec, tables, seed };
      const { replay, writer } = await pair(options, { items, autoreset, maxInFlight: 1 + dice(40) }, { lanes: LANES });
      const home = new Replay(options);
      const own = home.writer({ items, autoreset, lanes: LANES });
      for (let k = 0; k < 200; k++) {
        const rows = Array.from({ length: LANES }, (_, lane) => stepAt(k + lane));
        const steps = {
          observation: rows.map((r) => r.observation),
          action: rows.map((r) => r.action),
          reward: rows.map((r) => r.reward),
          name: rows.map((r) => r.name),
        };
        const terminated = rows.map(() => dice(8) === 0);
        const truncated = Uint8Array.from(rows, () => Number(dice(8) === 0));
        const final = { observation: rows.map((_, lane) => (terminated[lane] || truncated[lane] ? [k, lane] : null)) };
        const ends = { terminated, truncated, ...(autoreset === "nextStep" && dice(10) > 0 ? {} : { final }) } as never;
        if (dice(4) === 0) await both([() => own.append(steps as never), () => writer.append(steps as never)]);
        else await both([() => own.append(steps as never, ends), () => writer.append(steps as never, ends)]);
        const lane = dice(LANES + 1);
        const end = { lane, final: { observation: [k, k] }, terminated: dice(2) === 1 } as never;
        if (dice(6) === 0) await both([() => own.endEpisode(end), () => writer.endEpisode(end)]);
        if (dice(30) === 0) await both([() => own.endEpisode({ terminated: true } as never), () => writer.endEpisode({ terminated: true } as never)]);
        expect([writer.length, writer.episodeSteps]).toEqual([own.length, own.episodeSteps]);
      }
      await writer.flush();
      expectSame(replay, home);
    },
  );

  test("are truncated if the actor disconnects, so the last step begins no item", async () => {
    const { replay, writer, accepted, there } = await pair({ spec, tables }, { items: [{ table: "memory", nStep: 2 }] });
    const home = new Replay({ spec, tables });
    const own = home.writer({ items: [{ table: "memory", nStep: 2 }] });
    for (let k = 0; k < 6; k++) {
      own.append(stepAt(k));
      await writer.append(stepAt(k));
    }
    await writer.flush();
    there.close();
    expect((await accepted.closed).how).toBe("gone");
    own.close();
    // Each of the steps 0 … 4 begins an item.
    expect(replay.tables.memory.size).toBe(5);
    expectSame(replay, home);
  });

  test("items from endEpisode and appendColumns wait for the rate limiter, and arrive once", async () => {
    const queue = { maxSize: 3, maxTimesSampled: 1, sampler: fifo(), rateLimiter: queueLimiter(3), maxPending: 3 };
    const { replay, writer } = await pair({ spec, tables: { queue } }, { items: [{ table: "queue", nStep: 3 }], maxInFlight: 7 });
    const acting = (async () => {
      for (let k = 0; k < 60; k += 6) {
        const rows = Array.from({ length: 4 }, (_, i) => stepAt(k + i));
        await writer.appendColumns({
          observation: rows.map((r) => r.observation),
          action: rows.map((r) => r.action),
          reward: rows.map((r) => r.reward),
          name: rows.map((r) => r.name),
        } as never);
        await writer.append(stepAt(k + 4));
        await writer.append(stepAt(k + 5));
        await writer.endEpisode({ final: { observation: [k, k] }, terminated: false });
      }
      await writer.close();
    })();
    const seen: number[] = [];
    while (seen.length < 60) {
      const { steps } = (await replay.tables.queue.sampleWhenReady(1, { length: 1, timeoutMs: 5000 } as never)) as unknown as {
        steps: { action: { data: Int32Array } };
      };
      seen.push(steps.action.data[0] as number);
    }
    await acting;
    expect(seen).toEqual([...Array(60).keys()]);
  });

  test("fail with RATE_LIMITED if more items arrive together than maxPending allows", async () => {
    const queue = { maxSize: 1, maxTimesSampled: 1, sampler: fifo(), rateLimiter: queueLimiter(1), maxPending: 1 };
    const { replay, writer, accepted } = await pair({ spec, tables: { queue } }, { items: [{ table: "queue", nStep: 3 }] });
    for (let k = 0; k < 4; k++) await writer.append(stepAt(k));
    await writer.endEpisode({ terminated: true });
    const flushed = writer.flush({ timeoutMs: 5000 }).catch((error: Error) => error);
    // The first transition is in the table; the last three transitions cannot enter together.
    await replay.tables.queue.sampleWhenReady(1, { timeoutMs: 5000 });
    expectError((await flushed) as Error, "RATE_LIMITED", /Increase maxPending/);
    expect(await accepted.closed).toMatchObject({ how: "failed", error: { code: "RATE_LIMITED" } });
  });

  test("rules with nStep across several lanes require autoreset", async () => {
    const error = await pair({ spec, tables }, { items: [{ table: "memory", nStep: 2 }] }, { lanes: 2 }).then(
      () => new Error("taken"),
      (reason: Error) => reason,
    );
    expectError(error, TypeError, /autoreset/);
  });
});
