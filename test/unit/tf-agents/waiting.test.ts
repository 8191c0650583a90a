/** Tests observers on a table whose rate limiter blocks inserts: calls return promises, which resolve in order, and no item may be lost. */
import { expect, test } from "vitest";
import { fifo, queueLimiter, type TableOptions } from "../../../src/index.ts";
import { drive, ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver } from "../../../src/tf-agents/index.ts";
import { episode, items, replayOf, type Steps, step } from "./support.ts";

/** A queue of one item, with room for one waiting item. */
const QUEUE: TableOptions = { maxSize: 1, sampler: fifo(), rateLimiter: queueLimiter(1), maxTimesSampled: 1, maxPending: 1 };

async function drained(replay: ReturnType<typeof replayOf>, pending: () => boolean): Promise<string[]> {
  const found: string[] = [];
  for (let turns = 0; turns < 200; turns++) {
    found.push(...items(replay));
    await Promise.resolve();
    if (!pending() && replay.table("t").size === 0) return found;
  }
  throw new Error(`still waiting after ${found}`);
}

test("a call waits for room, and later calls wait in order", async () => {
  const replay = replayOf({ t: QUEUE });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 2, padEndOfEpisodes: true, tileEndOfEpisodes: true });
  expect([step(0), step(1), step(2)].map((one) => observer(one))).toEqual([undefined, undefined, undefined]);
  const reused = { ...step(3), observation: Float32Array.of(3, -3) };
  const third = observer(reused);
  reused.observation.fill(99);
  const rest = [...episode(1, 4), step(10)].map((one) => observer(one));
  expect([third, ...rest].every((result) => result instanceof Promise)).toBe(true);
  expect(observer.cachedSteps).toBe(3);
  const flushed = observer.flush();
  let open = 1;
  Promise.all([third, ...rest, flushed]).then(() => open--);
  const found = await drained(replay, () => open > 0);
  expect(found).toEqual(["0 1", "1 2", "2 3", "3 4", "4 5", "5 P"]);
  expect(observer.cachedSteps).toBe(1);
  // The queue is empty again, so the call does not wait.
  expect(observer(step(11))).toBeUndefined();
});

test("a waiting step is copied", async () => {
  const replay = replayOf({ t: QUEUE });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 1 });
  observer(step(0));
  observer(step(1));
  const observation = Float32Array.of(2, -2);
  const waits = observer({ ...step(2), observation });
  observation.fill(99);
  let open = 1;
  waits?.then(() => open--);
  const seen: number[] = [];
  while (open > 0 || replay.table("t").size > 0) {
    const { count, steps } = replay.table("t").sample(1);
    if (count > 0) seen.push(steps.observation.data[0] as number);
    await Promise.resolve();
  }
  expect(seen).toEqual([0, 1, 2]);
});

test("an episode also waits for room", async () => {
  const replay = replayOf({ t: QUEUE });
  const observer = new ReverbAddEpisodeObserver<Steps>(replay, { tableName: "t", maxSequenceLength: 9 });
  const results = [...episode(1), ...episode(1, 10), ...episode(1, 20), ...episode(1, 30)].map((one) => observer(one));
  expect(results.slice(0, 4)).toEqual([undefined, undefined, undefined, undefined]);
  expect(results.slice(5).every((result) => result instanceof Promise)).toBe(true);
  let open = 1;
  Promise.all(results).then(() => open--);
  expect(await drained(replay, () => open > 0)).toEqual(["0 1", "10 11", "20 21", "30 31"]);
});

test("an invalid call in the queue rejects, and the next call continues", async () => {
  const replay = replayOf({ t: QUEUE });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 1 });
  observer(step(0));
  observer(step(1));
  const waits = observer(step(2));
  const wrong = observer({ ...step(3), observation: [1] } as never);
  const right = observer(step(4));
  const settled = Promise.allSettled([waits, wrong, right]);
  let open = 1;
  settled.then(() => open--);
  expect(await drained(replay, () => open > 0)).toEqual(["0", "1", "2", "4"]);
  expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("close rejects waiting calls with CLOSED", async () => {
  const replay = replayOf({ t: QUEUE });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 1 });
  for (let n = 0; n < 2; n++) observer(step(n));
  const waits = observer(step(2));
  observer.close();
  const settled = waits?.catch((error: { code: string }) => error.code);
  expect(items(replay)).toEqual(["0", "1"]);
  expect(await settled).toBe("CLOSED");
});

test("a table with maxPending 0 throws immediately", () => {
  const replay = replayOf({ t: { ...QUEUE, maxPending: 0 } });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 1 });
  observer(step(0));
  expect(() => observer(step(1))).toThrow(/maxPending/);
  expect(observer.cachedSteps).toBe(1);
});

test("steps that wait when an observer is closed are not in the next episode", async () => {
  const replay = replayOf({ t: QUEUE });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 2 });
  const before = [0, 1, 2, 3, 4, 5].map((n) => observer(step(n)));
  observer.close();
  observer.open();
  const codes = Promise.all(before.slice(3).map((waits) => waits?.catch((error: { code: string }) => error.code)));
  const after = [100, 101, 102].map((n) => observer(step(n)));
  let open = 1;
  Promise.all(after).then(() => open--);
  expect(await drained(replay, () => open > 0)).toEqual(["0 1", "1 2", "100 101", "101 102"]);
  expect(await codes).toEqual(["CLOSED", "CLOSED", "CLOSED"]);
});

test("flush accepts a timeout and a signal while calls wait, and need not be awaited", async () => {
  const replay = replayOf({ t: QUEUE });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 1 });
  for (let n = 0; n < 4; n++) observer(step(n));
  await expect(observer.flush({ timeoutMs: 5 })).rejects.toMatchObject({ code: "TIMEOUT" });
  await expect(observer.flush({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  observer.flush();
  replay.dispose();
  await new Promise((resolve) => setTimeout(resolve, 5));
});

test("the signal of a drive ends a wait for room", async () => {
  const replay = replayOf({ t: QUEUE });
  const observer = new ReverbAddTrajectoryObserver<Steps>(replay, { tableName: "t", sequenceLength: 1 });
  const environment = { reset: () => [0, 0], step: () => ({ observation: [1, 1], reward: 1, terminated: false, truncated: false }) };
  const stop = new AbortController();
  const run = drive(environment, () => 0, [observer], { steps: 100, signal: stop.signal });
  stop.abort(new Error("enough"));
  await expect(run).rejects.toThrow("enough");
});
