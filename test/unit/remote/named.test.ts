/** Tests actors with named writers: after a restart, their environments are new, so a named writer must end its open episode and begin another one. */
import { describe, expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { f32, i32, Replay } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { ends } from "./support.ts";

const spec = { observation: f32(), action: i32(), reward: f32() };
const tables = { t: { maxSize: 100 } };
const accept = { name: "actor", items: [{ table: "t", nStep: 2 }] } as const;

async function met(replay: Replay, options: object = accept, lanes = 1) {
  const [here, there] = ends();
  const [accepted, writer] = await Promise.all([replay.acceptWriter(here, options), remoteWriter(there, { spec, lanes })]);
  return { accepted, writer, here, there };
}

describe("acceptWriter with a name", () => {
  test("keeps one open writer across restarts, and creates the last items of each run", async () => {
    let dir = memory();
    for (let run = 1; run <= 5; run++) {
      const said: string[] = [];
      const replay = await Replay.open({ dir, spec, tables, durability: "manual", logger: (message) => said.push(message) });
      // In each run, the actor may have different lanes.
      const { writer } = await met(replay as never, run === 5 ? { ...accept, autoreset: "disabled" } : accept, run === 5 ? 2 : 1);
      const step = { observation: 1, action: 1, reward: 1 };
      const two = { observation: [1, 2], action: [1, 2], reward: [1, 2] };
      for (let t = 0; t < 4; t++) await writer.append((run === 5 ? two : step) as never);
      await writer.flush();
      await replay.flush();
      expect(replay.writers.map(({ options: { name, lanes }, episodeSteps }) => [name, lanes, episodeSteps])).toEqual([["actor", run === 5 ? 2 : 1, 4]]);
      // Four steps make two transitions, and closing the writer makes another one.
      expect(replay.tables.t.size).toBe(3 * (run - 1) + (run === 5 ? 4 : 2));
      expect(said).toEqual([]);
      dir = dir.crash();
    }
  });

  test("rejects a name that is in use, at both ends, and frees it when the actor leaves", async () => {
    const replay = new Replay({ spec, tables }) as unknown as Replay;
    const { writer, accepted } = await met(replay);
    const [here, there] = ends();
    const both = await Promise.all([replay.acceptWriter(here, accept), remoteWriter(there, { spec })].map(errorFrom));
    for (const error of both) expectError(error, "OUT_OF_TURN", /name must .*got "actor"/);
    expect(replay.writers.length).toBe(1);
    await writer.close();
    expect((await accepted.closed).how).toBe("left");
    await met(replay);
    expect(replay.writers.map(({ options }) => options.name)).toEqual(["actor"]);
  });

  test("rejects the name of a local writer, and does not close that writer", async () => {
    const replay = new Replay({ spec, tables }) as unknown as Replay;
    const own = replay.writer({ name: "actor" });
    const [here, there] = ends();
    const both = await Promise.all([replay.acceptWriter(here, accept), remoteWriter(there, { spec })].map(errorFrom));
    for (const error of both) expectError(error, "OUT_OF_TURN", /got "actor"/);
    expect(replay.writers).toEqual([own]);
  });

  test("rejects an empty name immediately", async () => {
    const replay = new Replay({ spec, tables });
    expectError(await errorFrom(replay.acceptWriter(ends()[0], { name: "" })), RangeError, /^name must be a non-empty string, got ""/);
  });

  test("accepts one of two simultaneous actors, and rejects the other with OUT_OF_TURN", async () => {
    const replay = new Replay({ spec, tables }) as unknown as Replay;
    const ports = [ends(), ends()];
    const accepting = ports.map(([here]) => errorFrom(replay.acceptWriter(here, accept).then(() => Promise.reject(new Error("in")))));
    // Both actors are welcomed before either is accepted.
    const writers = await Promise.all(ports.map(([, there]) => remoteWriter(there, { spec })));
    const told = await Promise.all(accepting);
    expect(told.map(({ message }) => message === "in").sort()).toEqual([false, true]);
    expect(replay.writers.length).toBe(1);
    for (const [i, writer] of writers.entries()) {
      if ((told[i] as Error).message === "in") await writer.flush();
      else expectError(await errorFrom(Promise.resolve().then(() => writer.flush())), "OUT_OF_TURN", /got "actor"/);
    }
  });
});
