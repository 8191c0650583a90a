/** Tests actors whose Replay has a journal: flushed data must survive a crash, and a failing disk must end the actors with the reason. */
import { describe, expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { fifo, i32, type OpenReplay, Replay } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { ends } from "./support.ts";

const spec = { n: i32() };

async function journal(durability: "manual" | "always") {
  const disk = { isFull: false };
  const dir = memory({ fault: ({ kind }) => (disk.isFull && kind === "write" ? { code: "ENOSPC" } : undefined) });
  const replay = await Replay.open({ spec, tables: { t: { maxSize: 1000, sampler: fifo() } }, dir, durability });
  const [here, there] = ends();
  const accepting = replay.acceptWriter(here, { items: [{ table: "t", length: 1 }], maxInFlight: 7 });
  const writer = await remoteWriter(there, { spec });
  return { disk, dir, replay, writer, accepted: await accepting };
}

type Journal = OpenReplay<typeof spec, "t">;

describe("an actor whose Replay has a journal", () => {
  test("loses no steps in a crash after both ends have flushed, and keeps their order", async () => {
    const { dir, replay, writer } = await journal("manual");
    for (let n = 1; n <= 300; n++) {
      await writer.append({ n });
      if (n % 50 === 0) {
        await writer.flush();
        await replay.flush();
      } else if (n % 50 === 9 && n > 50) {
        await writer.flush();
        const again = (await Replay.open({ dir: dir.crash(), logger: null })) as unknown as Journal;
        const { size } = again.tables.t;
        expect(size).toBe(n - 9);
        expect([...again.tables.t.sample(size, { replacement: false }).steps.n.data]).toEqual(Array.from({ length: size }, (_, i) => i + 1));
        // The actor's writer exists, but its environment no longer does.
        expect(again.writers.length).toBe(1);
        again.writers[0]?.close();
        again.dispose();
      }
    }
    await writer.close();
    replay.dispose();
  });

  test.each([
    ["the disk is full", "IO", ({ disk }) => Object.assign(disk, { isFull: true })],
    ["the directory was opened again", "CLOSED", async ({ dir }) => void (await Replay.open({ dir, logger: null }))],
  ] as [string, "IO" | "CLOSED", (of: Awaited<ReturnType<typeof journal>>) => unknown][])("fails at both ends if %s", async (_, code, happens) => {
    for (const call of ["append", "close"] as const) {
      const all = await journal("always");
      const { disk, replay, writer, accepted } = all;
      await writer.append({ n: 1 });
      await writer.flush();
      await happens(all);
      if (call === "append") await writer.append({ n: 2 });
      const { how, error } = await Promise.all([errorFrom(writer.close()), accepted.closed]).then(([refused, farewell]) => {
        expectError(refused, code);
        return farewell;
      });
      expect(how).toBe("failed");
      expectError(error as Error, code);
      expect(replay.writers.length).toBe(0);
      disk.isFull = false;
      if (code === "IO") replay.dispose();
    }
  });
});
