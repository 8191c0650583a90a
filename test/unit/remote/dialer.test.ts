/**
 * Tests how long a writer tries to connect: reconnectTimeoutMs must limit the total time, whatever the connect function does. Time is measured in turns of the
 * event loop.
 */
import { expect, test } from "vitest";
import { fifo, i32, Replay } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { useTurnClock } from "../../support/turn-clock.ts";
import { MemoryServer } from "./server.ts";
import { type MemoryChannel, memoryChannels, turn } from "./support.ts";

useTurnClock();

const spec = { n: i32() };
const items = [{ table: "t", length: 1 }] as const;
const made = () => new Replay({ spec, tables: { t: { maxSize: 1000, sampler: fifo() } } });

/** Runs a function; returns its result and the elapsed milliseconds. */
async function timed<T>(run: () => Promise<T>): Promise<[T, number]> {
  const begin = performance.now();
  const result = await run();
  return [result, performance.now() - begin];
}

test("a connect function that never settles fails after reconnectTimeoutMs, and its late socket is closed", async () => {
  let settle: (channel: MemoryChannel) => void = () => {};
  const connect = () =>
    new Promise<MemoryChannel>((resolve) => {
      settle = resolve;
    });
  const [error, ms] = await timed(() => errorFrom(remoteWriter(connect, { spec, reconnectTimeoutMs: 3000 })));
  expectError(error, "CLOSED", /no connection to the Replay for 3000 ms: .* has not settled/);
  expect(ms).toBeGreaterThan(2900);
  expect(ms).toBeLessThan(3500);
  const [here, there] = memoryChannels();
  settle(there);
  await turn();
  expect(here.code).toBe(1000);
});

test("a reconnect that never settles fails after reconnectTimeoutMs, and later calls throw CLOSED", async () => {
  const server = new MemoryServer(made(), { items });
  let tries = 0;
  const connect = () => (++tries === 1 ? server.connect() : new Promise<never>(() => {}));
  const writer = await remoteWriter(connect, { spec, reconnectTimeoutMs: 3000 });
  await writer.append({ n: 0 });
  await writer.flush();
  server.break();
  await writer.append({ n: 1 });
  const [error, ms] = await timed(() => errorFrom(writer.flush()));
  expectError(error, "CLOSED", /for 3000 ms/);
  expect(ms).toBeLessThan(3500);
  expectError(
    errorOf(() => writer.append({ n: 2 })),
    "CLOSED",
  );
  expect(tries).toBe(2);
});

test("reconnectTimeoutMs also limits the wait for a silent socket", async () => {
  const connect = () => memoryChannels()[0];
  const [error, ms] = await timed(() => errorFrom(remoteWriter(connect, { spec, reconnectTimeoutMs: 3000 })));
  expectError(error, "CLOSED", /no connection to the Replay for 3000 ms: the other end sent nothing/);
  expect(ms).toBeLessThan(3500);
});

test("reconnectTimeoutMs: 0 allows one attempt of at most 10 seconds", async () => {
  const server = new MemoryServer(made(), { items });
  const writer = await remoteWriter(() => turn().then(server.connect), { spec, reconnectTimeoutMs: 0 });
  server.break();
  expectError(await errorFrom(writer.flush()), "CLOSED");
  const [error, ms] = await timed(() => errorFrom(remoteWriter(() => new Promise(() => {}), { spec, reconnectTimeoutMs: 0 })));
  expectError(error, "CLOSED", /for 10000 ms/);
  expect(ms).toBeLessThan(10_500);
});

test("reconnectTimeoutMs may be infinite or longer than a timer can wait", async () => {
  const server = new MemoryServer(made(), { items });
  for (const reconnectTimeoutMs of [2 ** 40, Number.POSITIVE_INFINITY]) {
    const writer = await remoteWriter(() => turn().then(server.connect), { spec, reconnectTimeoutMs });
    await writer.append({ n: 0 });
    await writer.close();
  }
});

test("remoteWriter and acceptWriter reject values that are not ports or sockets, and report the value", async () => {
  expectError(await errorFrom(remoteWriter(() => 7 as never, { spec })), TypeError, /^the result of the socket function must .*got 7/);
  expectError(await errorFrom(remoteWriter(7 as never, { spec })), TypeError, /^port must .*URL.*got 7/);
  expectError(await errorFrom(made().acceptWriter(7 as never)), TypeError, /^port must (?!.*URL).*ByteChannel.*got 7/);
});
