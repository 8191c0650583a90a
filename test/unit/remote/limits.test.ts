/** Tests the limits of an accepting end, which slow a correct actor down. Time is measured in turns of the event loop. */
import { expect, test } from "vitest";
import { i32, Replay } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { useTurnClock } from "../../support/turn-clock.ts";
import { memoryChannels } from "./support.ts";

useTurnClock();

const spec = { n: i32(100) };
const step = { n: new Int32Array(100) };

test.each([
  ["steps", { stepsPerSecond: 100 }, 500],
  ["bytes", { bytesPerSecond: 50_000 }, 500],
] as const)("a limit of %s per second makes the actor wait", async (_, limits, steps) => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 1000 } } });
  const [here, there] = memoryChannels();
  const [accepted, writer] = await Promise.all([replay.acceptWriter(here, { limits, maxInFlight: 32 }), remoteWriter(there, { spec })]);
  const begin = performance.now();
  for (let n = 0; n < steps; n++) await writer.append(step);
  await writer.flush();
  const seconds = (performance.now() - begin) / 1000;
  expect(accepted.steps).toBe(steps);
  // The first second does not count, because its steps are accepted immediately.
  expect(seconds).toBeGreaterThan(2.5);
  expect(seconds).toBeLessThan(8);
  await writer.close();
});

test("a step larger than a frame fails with UNSUPPORTED, and acceptWriter rejects invalid limits", async () => {
  const replay = new Replay({ spec: { n: i32(100_000) }, tables: {} });
  const [here, there] = memoryChannels();
  const [accepting, error] = await Promise.all([
    replay.acceptWriter(here, { limits: { frameBytes: 1 << 19 } }),
    errorFrom(remoteWriter(there, { spec: { n: i32(100_000) } })),
  ]);
  expectError(error, "UNSUPPORTED", /a block of steps has \d+ bytes, .* 524288\. Increase limits.frameBytes/);
  expect((await accepting.closed).how).toBe("gone");
  for (const limits of [{ frameBytes: 9 }, { stepsPerSecond: 0 }, { inFlightBytes: 0 }])
    expectError(await errorFrom(replay.acceptWriter(memoryChannels()[0], { limits })), RangeError, /^limits\./);
  expectError(await errorFrom(replay.acceptWriter(memoryChannels()[0], { limits: { steps: 1 } as never })), TypeError, /limits has no option "steps"/);
});

test("columns larger than a frame are sent in pieces, with their ends, final observations and priorities", async () => {
  const options = { spec: { observation: i32(1000), reward: i32(), action: i32() }, tables: { t: { maxSize: 1000 } }, seed: 1 };
  const [replay, home] = [new Replay(options), new Replay(options)];
  const rules = { items: [{ table: "t", nStep: 1 }] } as const;
  const [here, there] = memoryChannels();
  const limits = { frameBytes: 1 << 18, inFlightBytes: 1 << 18 };
  const [, writer] = await Promise.all([replay.acceptWriter(here, { ...rules, limits, maxInFlight: 10 }), remoteWriter(there, { spec: options.spec })]);
  const own = home.writer(rules);
  const rows = [...Array(300).keys()];
  const columns = { observation: Int32Array.from({ length: 300_000 }, (_, i) => i), reward: rows, action: rows };
  const terminated = rows.map((n) => n % 7 === 3);
  const truncated = rows.map((n) => n % 11 === 5);
  const ends = rows.filter((n) => terminated[n] || truncated[n]).length;
  const final = { observation: Int32Array.from({ length: 1000 * ends }, (_, i) => -i) };
  const block = { terminated, truncated, final, priorities: { t: rows } };
  own.appendColumns(columns, block);
  await writer.appendColumns(columns, block as never);
  await writer.flush();
  expect(replay.tables.t.sample(200, { replacement: false })).toEqual(home.tables.t.sample(200, { replacement: false }));
  await writer.close();
});
