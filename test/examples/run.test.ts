/** Tests the module `run.js` that the examples share: a run must continue after an interruption or a kill. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { i32, prioritized, type Table } from "reprise";
import { afterAll, afterEach, expect, test } from "vitest";
import { seeded } from "../../examples/random.js";
import { Run } from "../../examples/run.js";

const folder = mkdtempSync(join(tmpdir(), "reprise-"));
const listeners = process.listeners("SIGINT");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
// A run installs listeners for the lifetime of its program.
afterEach(() => {
  for (const listener of process.listeners("SIGINT")) if (!listeners.includes(listener)) process.off("SIGINT", listener);
});

const OPTIONS = { spec: { number: i32() }, tables: { threes: { maxSize: 500, sampler: prioritized(1) } }, seed: 3 };

/** Starts a program whose results depend on everything that it has drawn. */
async function program(dir?: string) {
  const run = await Run.open(dir, OPTIONS);
  const mine = { steps: 0, sum: 0, chance: seeded(7) };
  const goesOn = run.resume(mine, ["steps", "sum", "chance.state"]);
  const writer = run.client.writer({ keep: 3, items: [{ table: "threes", length: 3 }] });
  const table = run.client.table("threes") as unknown as Table<typeof OPTIONS.spec>;
  function step(): void {
    writer.append({ number: mine.steps++ });
    if (mine.chance() < 0.1) writer.endEpisode();
    if (table.size === 0) return;
    const { info, steps } = table.sample(4);
    for (const number of steps.number.data) mine.sum = (31 * mine.sum + number) % 1_000_003;
    table.updatePriorities(
      info.keys,
      info.keys.map(() => mine.chance()),
    );
  }
  return {
    run,
    mine,
    goesOn,
    table,
    step,
    live(steps: number) {
      for (let i = 0; i < steps; i++) step();
      return [mine.steps, mine.sum, mine.chance()];
    },
  };
}

/** Copies the directory in the state that a killed process leaves. */
function killed(dir: string): string {
  const copy = `${dir}-killed`;
  cpSync(dir, copy, { recursive: true });
  for (const name of readdirSync(copy)) if (name.startsWith("lock")) rmSync(join(copy, name));
  return copy;
}

test("a run without a directory keeps nothing", async () => {
  const { run, goesOn, live } = await program();
  live(50);
  await run.keep();
  expect([goesOn, run.interrupted]).toEqual([false, false]);
});

test("a run that was kept in the middle of an episode continues like an uninterrupted run", async () => {
  const alone = await program();
  const dir = join(folder, "kept");
  for (const steps of [0, 2, 333, 1000]) {
    const { run, mine, goesOn, live } = await program(dir);
    expect([goesOn, mine.steps]).toEqual([alone.mine.steps > 0 || steps === 2, alone.mine.steps]);
    expect(live(steps)).toEqual(alone.live(steps));
    await run.keep();
    expect(run.seconds).toBeGreaterThan(0);
    run.replay.dispose();
  }
});

test("a run that is killed continues from its last keep like an uninterrupted run", async () => {
  const { run, live } = await program(join(folder, "later"));
  live(400);
  await run.keep();
  live(91);
  const after = await program(killed(join(folder, "later")));
  expect([after.goesOn, after.mine.steps]).toEqual([true, 400]);
  const alone = await program();
  alone.live(400);
  expect(after.live(200)).toEqual(alone.live(200));
});

test("tick keeps the run from time to time", async () => {
  const dir = join(folder, "ticks");
  const { run, step } = await program(dir);
  for (let i = 0; i < 1001; i++) {
    step();
    await run.tick();
    step();
  }
  const after = await program(killed(dir));
  expect(after.mine.steps).toBe(2001);
});
