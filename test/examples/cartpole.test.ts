/** Tests the first program that a visitor runs: compares its environment with recorded Gymnasium runs, and runs the program as users do. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CartPole } from "../../examples/cartpole/cart-pole.js";
import { root } from "../support/core.ts";
import { some, whole } from "../support/size.ts";

interface Run {
  readonly name: string;
  readonly initial_state: number[];
  readonly actions: number[];
  readonly length: number;
  readonly states: { readonly [step: string]: number[] };
  readonly terminated: boolean;
  readonly truncated: boolean;
}

const { cases } = JSON.parse(readFileSync(join(import.meta.dirname, "cartpole.json"), "utf8")) as { cases: Run[] };
const folder = join(root, "examples/cartpole");
const program = join(folder, "main.js");
const start = (...args: string[]) => spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });

const RUN = ["--seed", "3", "--target", "501"];
/** Learning starts after 500 steps. */
const STEPS = whole ? 2000 : 530;
const LATER = whole ? 1234 : 515;

/** Returns the results of a run without times and bytes. */
function learned(...args: string[]): string[] {
  const { status, stdout } = start(...RUN, "--env-steps", `${STEPS}`, ...args);
  expect(status).toBe(1);
  const lines = (stdout.trimEnd().split("\n").at(-1) as string).split(" · ").filter((line) => /^(return|greedy|priorities) /.test(line));
  expect(lines.length).toBe(3);
  return lines;
}

/** Sends a signal after the first output of the program. Returns its exit and output. */
async function interrupted(signal: NodeJS.Signals, ...args: string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("close", (status, by) => resolve(status ?? by)));
  let said = "";
  child.stdout.on("data", (chunk) => {
    if (said === "") child.kill(signal);
    said += chunk;
  });
  return { ended: await ended, said };
}

/** The results of a run that was never interrupted. */
let apart: string[] = [];
beforeAll(() => {
  if (whole) apart = learned();
});

describe.each(cases)("CartPole-v1, $name", ({ initial_state, actions, length, states, terminated, truncated }) => {
  it("computes each step as Gymnasium does", () => {
    for (const [t, state] of Object.entries(states)) {
      const before = t === "1" ? initial_state : states[Number(t) - 1];
      if (before === undefined) continue;
      const world = new CartPole(undefined);
      world.state = before;
      const { observation, reward } = world.step(actions[Number(t) - 1]);
      observation.forEach((value: number, i: number) => {
        const expected = state[i] as number;
        expect(Math.abs(value - expected)).toBeLessThanOrEqual(1e-12 * Math.abs(expected));
      });
      expect(reward).toBe(1);
    }
  });

  it("ends at the same step as Gymnasium, with the same flags", () => {
    const world = new CartPole(undefined);
    world.state = initial_state;
    const outcomes = actions.map((action) => world.step(action));
    expect(outcomes.findIndex((outcome) => outcome.terminated || outcome.truncated)).toBe(length - 1);
    expect(outcomes.at(-1)).toMatchObject({ terminated, truncated });
  });
});

describe("npm start", () => {
  it("starts an example of at most 250 lines in all its files", () => {
    const lines = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8").split("\n").length - 1);
    expect(lines.reduce((sum, n) => sum + n)).toBeLessThanOrEqual(250);
  });

  it("prints one JSON object with --json", () => {
    const { status, stdout, stderr } = start("--json", ...RUN, "--env-steps", `${STEPS}`);
    expect([status, stderr]).toEqual([1, ""]);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ seed: 3, envSteps: STEPS });
    for (const key of ["learningSeconds", "setUpSeconds", "replayShare", "bytes"]) expect(result[key]).toBeGreaterThan(0);
    expect(result.replayShare).toBeLessThan(1);
    expect(result.curve).toEqual(whole ? [result.meanReturn] : []);
  });

  // A run with --dir below is also compared with it.
  it.runIf(whole)("learns the same from the same seed", () => {
    expect(learned()).toEqual(apart);
  });

  it("reports its progress, and exits with 1 after the last step", () => {
    const { status, stdout } = start("--env-steps", "16");
    expect(status).toBe(1);
    expect(stdout).toMatch(/Not solved: seed 1, step 16.* return .* greedy –.* memory \d+ of 20000 transitions.* priorities .* replay \d+ samples\/s/);
  });

  it.each(
    some<[string[], RegExp]>(
      [
        [["--seed", "x"], /--seed, --env-steps and --target take whole numbers/],
        [["--env-steps", "1.5"], /--seed, --env-steps and --target take whole numbers/],
        [["--sead", "1"], /unknown option '--sead'.*--seed/s],
      ],
      1,
    ),
  )("rejects %j", (args, message) => {
    const { status, stderr } = start(...args);
    expect(status).toBe(1);
    expect(stderr).toMatch(message);
  });

  it.runIf(whole)("stops at Ctrl-C with a summary", async () => {
    const { ended, said } = await interrupted("SIGINT", "--target", "501");
    expect(ended).toBe(130);
    expect(said).toMatch(/Stopped: seed 1, step \d+/);
  });
});

describe("npm start -- --dir", () => {
  const runs = mkdtempSync(join(tmpdir(), "reprise-"));
  afterAll(() => rmSync(runs, { recursive: true, force: true }));

  it.runIf(whole)("continues after a kill, Ctrl-C or the last step, and learns the same as without interruption", { timeout: 120_000 }, async () => {
    const dir = join(runs, "a");
    const args = [...RUN, "--dir", dir];
    expect(start(...args, "--env-steps", "321").stdout).toMatch(/^CartPole-v1 Not solved: seed 3, step 321/m);
    const killed = await interrupted("SIGKILL", ...args);
    expect([killed.ended, killed.said]).toEqual(["SIGKILL", expect.stringMatching(/^Continued at step 321 from .*a\n/)]);
    const { ended, said } = await interrupted("SIGINT", ...args);
    expect(ended).toBe(130);
    const steps = Number(/Stopped: seed 3, step (\d+)/.exec(said)?.[1]);
    const { status, stdout } = start(...args, "--env-steps", `${LATER}`);
    expect(status).toBe(1);
    expect(stdout).toMatch(new RegExp(`^Continued at step ${steps} from .*a\n[^]*Not solved: seed 3, step ${LATER}`));
    const there = learned("--dir", dir);
    expect(there).toEqual(apart);
    // The agent is evaluated every 2,000 steps.
    const [mean] = /[\d.]+(?=, mean)/.exec(there.join("\n")) as RegExpExecArray;
    const again = start("--seed", "3", "--target", String(Math.floor(Number(mean))), "--dir", dir);
    expect(again.status).toBe(0);
    expect(again.stdout).toMatch(/^Continued at step 2000 from .*a\nCartPole-v1 Solved: seed 3, step 2000/);
  });

  it.runIf(whole)("reports a directory of another run, and a path that is a file", () => {
    const dir = join(runs, "b");
    start("--env-steps", "1", "--dir", dir);
    const other = start("--seed", "2", "--dir", dir);
    expect([other.status, other.stdout]).toEqual([1, ""]);
    expect(other.stderr).toMatch(/--dir .*b: it contains another run: options\.seed must be "1"/);
    const file = join(runs, "c");
    writeFileSync(file, "");
    expect(start("--dir", file).stderr).toMatch(/--dir .*c: .*it is a file, not a folder/);
  });
});
