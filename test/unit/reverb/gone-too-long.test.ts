/** Tests a server that is unavailable for longer than reconnectTimeoutMs: the call must fail, and the next call retries. Nothing may be lost or duplicated. */
import { afterEach, expect, it } from "vitest";
import { i32, type Spec } from "../../../src/index.ts";
import { ReverbClient } from "../../../src/reverb/index.ts";
import { ReverbAddTrajectoryObserver, trajectorySpec } from "../../../src/tf-agents/index.ts";
import { GrpcServer } from "../../support/grpc-server.ts";
import { ReverbTwin } from "../../support/reverb-twin.ts";
import { useTurnClock } from "../../support/turn-clock.ts";

useTurnClock();

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const caught = (promise: unknown): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => undefined,
    (error) => error,
  );

/** Starts a server that can be stopped and restarted. Its table is kept, as in a suspended process. */
async function away() {
  const twin = new ReverbTwin("t");
  let server = await GrpcServer.start(twin.handler);
  const { address, port } = server;
  open.push({ close: () => server.stop().catch(() => {}) });
  const start = async () => {
    server = await GrpcServer.start(twin.handler, port);
  };
  return { twin, address, stop: () => server.stop(), start };
}

function client<const S extends Spec>(address: string, spec: S): ReverbClient<S> {
  const made = new ReverbClient<S>(address, { spec, reconnectTimeoutMs: 100 });
  open.push(made);
  return made;
}

const IO = { code: "IO", message: expect.stringContaining("100 ms (reconnectTimeoutMs)") };

it.each(["flush", "createItem", "endEpisode"] as const)("a writer continues with its next %s, and sends each unconfirmed item again once", async (how) => {
  const { twin, address, stop, start } = await away();
  const one = client(address, { act: i32() });
  const writer = one.trajectoryWriter({ numKeepAliveRefs: 3 });
  const item = (act: number) => {
    writer.append({ act });
    return writer.createItem("t", 1, { act: writer.history.act.slice(-Math.min(3, act)) });
  };
  await item(1);
  await item(2);
  await writer.flush();
  // The item is stored, but its confirmation is lost with the connection.
  const { confirm } = twin;
  twin.confirm = () => {};
  await item(3);
  while (twin.tables.get("t")?.size !== 3) await new Promise((resolve) => setTimeout(resolve, 2));
  await stop();
  twin.confirm = confirm;
  await item(4);
  expect(await caught(writer.flush())).toMatchObject({ ...IO, message: expect.stringContaining("2 items are not confirmed") });
  // Each call retries for the whole timeout.
  expect(await caught(writer.flush())).toMatchObject(IO);
  await start();
  if (how === "flush") await writer.flush();
  else if (how === "endEpisode") await writer.endEpisode({ timeoutMs: 20_000 });
  else {
    await item(5);
    await writer.flush();
  }
  const items = [...(twin.tables.get("t")?.values() ?? [])];
  expect(items.length).toBe(how === "createItem" ? 5 : 4);
  expect(items.map(({ item: { columns } }) => columns[0]?.slices.reduce((sum, { length }) => sum + length, 0))).toEqual([1, 2, 3, 3, 3].slice(0, items.length));
  expect(twin.wrong).toEqual([]);
  // The third item arrived twice, with the same key.
  expect(twin.came).toBe(items.length + 1);
  if (how === "endEpisode") expect(writer.episodeSteps).toBe(0);
});

it("a writer that ignores the error continues with its next append, without losing items", async () => {
  const { twin, address, stop, start } = await away();
  const one = client(address, { act: i32() });
  const writer = one.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
  await writer.append({ act: 0 });
  await writer.flush();
  await stop();
  for (let act = 1; act < 10; act++) writer.append({ act });
  await new Promise((resolve) => setTimeout(resolve, 400));
  await start();
  writer.append({ act: 10 });
  await writer.flush();
  expect([twin.tables.get("t")?.size, twin.came]).toEqual([11, 11]);
});

it("waiting for room rejects with the error, and the writer continues with the next call", async () => {
  const { twin, address, stop, start } = await away();
  const one = new ReverbClient(address, { spec: { act: i32() }, reconnectTimeoutMs: 100, maxInFlightItems: 3 });
  open.push(one);
  const writer = one.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
  await writer.append({ act: 0 });
  await writer.flush();
  await stop();
  writer.append({ act: 1 });
  writer.append({ act: 2 });
  expect(await caught(writer.append({ act: 3 }))).toMatchObject(IO);
  expect(await caught(writer.append({ act: 4 }))).toMatchObject(IO);
  await start();
  await writer.append({ act: 5 });
  await writer.flush();
  expect([twin.tables.get("t")?.size, twin.came]).toEqual([6, 6]);
});

it("an observer continues with its next step or with reset(false)", async () => {
  for (const resets of [false, true]) {
    const { twin, address, stop, start } = await away();
    const spec = trajectorySpec({ observation: i32(), action: i32() });
    const one = client(address, spec);
    const observer = new ReverbAddTrajectoryObserver(one, { tableName: "t", sequenceLength: 2 });
    const step = (observation: number) => observer({ stepType: 1, observation, action: 0, policyInfo: [], nextStepType: 1, reward: 0, discount: 1 });
    await step(0);
    await step(1);
    await observer.flush();
    await stop();
    step(2);
    expect(await caught(observer.flush())).toMatchObject(IO);
    await start();
    if (resets) expect(await caught(observer.reset(false))).toBeUndefined();
    await step(3);
    await step(4);
    await observer.flush();
    // No item spans a reset.
    expect([twin.tables.get("t")?.size, twin.came]).toEqual(resets ? [3, 3] : [4, 4]);
    observer.close();
  }
});

it("close of a writer sends its unconfirmed items again, and close of the client ends the retry of a flush", async () => {
  const { twin, address, stop, start } = await away();
  const one = client(address, { act: i32() });
  const writers = [0, 1].map(() => one.writer({ keep: 1, items: [{ table: "t", length: 1 }] }));
  for (const [act, writer] of writers.entries()) {
    await writer.append({ act });
    await writer.flush();
  }
  await stop();
  for (const [act, writer] of writers.entries()) {
    writer.append({ act });
    expect(await caught(writer.flush())).toMatchObject(IO);
  }
  await start();
  writers[0]?.close();
  while (twin.tables.get("t")?.size !== 3) await new Promise((resolve) => setTimeout(resolve, 2));
  await stop();
  const flushed = caught(writers[1]?.flush());
  one.close();
  expect(await flushed).toMatchObject({ code: "CLOSED" });
});

it("a failed insert is not sent again by the next insert", async () => {
  const { twin, address, stop, start } = await away();
  const one = client(address, { act: i32() });
  await one.insert({ act: 0 }, { t: 1 });
  await stop();
  expect(await caught(one.insert({ act: 1 }, { t: 1 }))).toMatchObject(IO);
  await start();
  await one.insert({ act: 1 }, { t: 1 });
  await one.insert({ act: 2 }, { t: 1 });
  expect([twin.tables.get("t")?.size, twin.came]).toEqual([3, 3]);
});

it("an item that the server rejects ends its writer permanently", async () => {
  const twin = new ReverbTwin("t");
  const server = await GrpcServer.start({
    ...twin.handler,
    message: (call, bytes) => (call.method.endsWith("InsertStream") ? call.end(13, "not this one") : twin.handler.message?.(call, bytes)),
  });
  open.push({ close: () => server.stop() });
  const one = client(server.address, { act: i32() });
  const writer = one.writer({ keep: 1, items: [{ table: "t", length: 1 }] });
  await writer.append({ act: 1 });
  for (let k = 0; k < 2; k++) expect(await caught(writer.flush())).toMatchObject({ code: "IO", message: expect.stringContaining("not this one") });
  expect(() => writer.append({ act: 2 })).toThrow("not this one");
});
