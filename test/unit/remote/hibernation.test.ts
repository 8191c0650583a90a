/** Tests which timers keep an object from hibernating, and how a recreated object continues if its sockets still exist. */
import { afterEach, expect, test, vi } from "vitest";
import { f32, Replay } from "../../../src/index.ts";
import { remoteWriter, ServerChannel } from "../../../src/remote/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { memoryChannels } from "./support.ts";

const spec = { x: f32() };
const OPTIONS = { items: [{ table: "t", length: 1 }] } as const;
afterEach(() => void vi.useRealTimers());

test.each([30_000, null])("with keepAliveMs: %s, the accepting end pings, or has no timer if it is null", async (keepAliveMs) => {
  vi.useFakeTimers();
  const [here, there] = memoryChannels();
  const replay = new Replay({ spec, tables: { t: { maxSize: 10 } } });
  const [accepted, writer] = await Promise.all([replay.acceptWriter(here, { ...OPTIONS, keepAliveMs }), remoteWriter(there, { spec })]);
  // The writer's end has one timer.
  expect(vi.getTimerCount()).toBe(keepAliveMs === null ? 1 : 2);
  let frames = 0;
  for (const end of [here, there])
    end.onSend = (bytes) => {
      frames++;
      return bytes;
    };
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(frames > 0).toBe(keepAliveMs !== null);
  expect(accepted.connected).toBe(true);
  await writer.append({ x: 1 });
  const closing = writer.close();
  await vi.advanceTimersByTimeAsync(10);
  await closing;
  expect((await accepted.closed).how).toBe("left");
});

test("a recreated object invites the actors of its sockets, and their sessions continue within the episode", async () => {
  const [here, there] = memoryChannels();
  const dir = memory();
  const open = (from = dir) => Replay.open({ dir: from, spec, tables: { t: { maxSize: 1000 } }, logger: null });
  // The platform keeps the socket, and calls the channel of the newest object.
  let channel: ServerChannel | undefined;
  here.receive({ message: (bytes) => channel?.message(bytes), close: (code, reason) => channel?.end(code, reason) });
  const accept = (replay: Awaited<ReturnType<typeof open>>) => {
    channel = new ServerChannel(here);
    return replay.acceptWriter(channel, { ...OPTIONS, confirm: "disk", keepAliveMs: null });
  };
  const first = await open();
  const accepting = accept(first);
  // A session continues after its memory was lost if the writer can reconnect; this writer never has to.
  const writer = await remoteWriter(() => there, { spec });
  await accepting;
  for (let x = 0; x < 5; x++) await writer.append({ x });
  await writer.flush();
  // The evicted object is never called again.
  channel = undefined;
  const second = await open(dir.crash());
  const accepted = await accept(second);
  for (let x = 5; x < 10; x++) await writer.append({ x });
  await writer.flush();
  expect([accepted.steps, second.tables.t.size, second.writers[0]?.episodeSteps]).toEqual([10, 10, 10]);
  await writer.close();
  expect((await accepted.closed).how).toBe("left");
  second.dispose();
});
