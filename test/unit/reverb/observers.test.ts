/** Tests observers of a server's tables, with items that the server rejects after the call. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { f32, i32 } from "../../../src/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import {
  BatchedObserverUnbatching,
  PyDriver,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbTrajectorySequenceObserver,
  restart,
  StepType,
  termination,
  trajectorySpec,
  transition,
} from "../../../src/tf-agents/index.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { serverInfoOf } from "../../support/server-tables.ts";

const F32 = 1;
const spec = trajectorySpec({ observation: f32(), action: i32() });
let twin: ReverbTwin;
let server: GrpcServer;
let client: ReverbClient<typeof spec>;
let unhandled: unknown[];
const note = (reason: unknown) => void unhandled.push(reason);

beforeEach(async () => {
  unhandled = [];
  process.on("unhandledRejection", note);
  twin = new ReverbTwin("good", "misfit");
  twin.info = () => serverInfoOf([{ name: "good" }, { name: "misfit", signature: { a: [F32, []] } }]);
  server = await GrpcServer.start(twin.handler);
  client = new ReverbClient(server.address, { spec });
});
afterEach(async () => {
  client.close();
  await server.stop();
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

const step = (n: number, type: StepType = StepType.MID) => ({
  stepType: type,
  observation: n,
  action: 0,
  policyInfo: [] as const,
  nextStepType: type === StepType.LAST ? StepType.FIRST : StepType.MID,
  reward: 0,
  discount: 1,
});
const batch = (n: number, type: StepType = StepType.MID) =>
  Object.fromEntries(Object.entries(step(n, type)).map(([name, value]) => [name, Array.isArray(value) ? value : [value, value]]));

type Client = ReverbClient<typeof spec>;
const OBSERVERS = {
  trajectory: (own: Client, tableName: string | string[]) => new ReverbAddTrajectoryObserver(own, { tableName, sequenceLength: 2 }),
  sequence: (own: Client, tableName: string | string[]) => new ReverbTrajectorySequenceObserver(own, { tableName, sequenceLength: 2 }),
  episode: (own: Client, tableName: string | string[]) => new ReverbAddEpisodeObserver(own, { tableName, maxSequenceLength: 4 }),
};
const isEnd = (n: number) => n % 3 === 2;

describe.each(Object.entries(OBSERVERS))("an observer of the kind %s", (_, make) => {
  test.each([
    ["nosuch", "NOT_FOUND"],
    ["misfit", "SPEC_MISMATCH"],
    [["good", "nosuch"], "NOT_FOUND"],
  ])("flush rejects once with the error of unawaited items for %s", async (tableName, code) => {
    const observer = make(client, tableName);
    // All calls are made before the server answers.
    for (let n = 0; n < 60; n++) observer(step(n, isEnd(n) ? StepType.LAST : StepType.MID));
    observer.reset(false);
    await expect(observer.flush()).rejects.toMatchObject({ code });
    await observer.flush();
    observer.close();
  });

  test("flush rejects with the error after close and open", async () => {
    const observer = make(client, "nosuch");
    for (let n = 0; n < 3; n++) observer(step(n, isEnd(n) ? StepType.LAST : StepType.MID));
    // The server answers in order, so it has already rejected these items.
    await client.serverInfo();
    await new Promise((resolve) => setImmediate(resolve));
    observer.close();
    await expect((async () => observer.flush())()).rejects.toMatchObject({ code: "CLOSED" });
    observer.open();
    await expect(observer.flush()).rejects.toMatchObject({ code: "NOT_FOUND" });
    await observer.flush();
  });

  test("flush does not repeat an error of an awaited call", async () => {
    const observer = make(client, "nosuch");
    const errors: unknown[] = [];
    for (let n = 0; n < 6; n++) {
      try {
        await observer(step(n, isEnd(n) ? StepType.LAST : StepType.MID));
      } catch (error) {
        errors.push((error as { code?: string }).code);
      }
    }
    expect(errors.length).toBeGreaterThan(1);
    expect(new Set(errors)).toEqual(new Set(["NOT_FOUND"]));
    await observer.flush();
    observer.close();
  });

  test("flush of a batched observer rejects with the index of the failed observer", async () => {
    const unbatching = new BatchedObserverUnbatching((i) => make(client, i === 0 ? "good" : "nosuch"), { batchSize: 2 });
    for (let n = 0; n < 6; n++) unbatching(batch(n, isEnd(n) ? StepType.LAST : StepType.MID));
    await expect(unbatching.flush()).rejects.toMatchObject({ code: "NOT_FOUND", failures: [{ index: 1 }] });
    await unbatching.flush();
    for (let n = 0; n < 2; n++) unbatching(batch(n));
    unbatching.reset();
    await expect(unbatching.flush()).rejects.toMatchObject({ code: "NOT_FOUND", failures: [{ index: 1 }] });
    await unbatching.flush();
    expect(twin.tables.get("good")?.size).toBeGreaterThan(0);
    unbatching.close();
  });
});

test("a flush that times out leaves the error to the next flush", async () => {
  const observer = OBSERVERS.trajectory(client, "nosuch");
  for (let n = 0; n < 5; n++) observer(step(n));
  await expect(observer.flush({ timeoutMs: 0 })).rejects.toMatchObject({ code: "TIMEOUT" });
  await expect(observer.flush()).rejects.toMatchObject({ code: "NOT_FOUND" });
  await observer.flush();
  observer.close();
});

describe("a driver", () => {
  let t = 0;
  const environment = { reset: () => restart(0), step: () => (++t % 4 === 0 ? termination(t, 0) : transition(t, 0)) };
  const driverOf = (observe: (step: never) => unknown) => new PyDriver(environment as never, (() => 0) as never, [observe as never], { maxSteps: 8 });

  test("rejects with the observer's error, and flush does not repeat it", async () => {
    const observer = OBSERVERS.trajectory(client, "nosuch");
    await expect(driverOf(observer as never).run()).rejects.toMatchObject({ code: "NOT_FOUND" });
    await observer.flush();
    observer.close();
  });

  test("leaves the error to flush if a signal stops it first", async () => {
    const observer = OBSERVERS.trajectory(client, "nosuch");
    const controller = new AbortController();
    const reason = new Error("enough");
    const observe = (step: never) => {
      const answer = observer(step);
      if (answer !== undefined) controller.abort(reason);
      return answer;
    };
    await expect(driverOf(observe).run(undefined, undefined, { signal: controller.signal })).rejects.toBe(reason);
    await expect(observer.flush()).rejects.toMatchObject({ code: "NOT_FOUND" });
    await observer.flush();
    observer.close();
  });
});
