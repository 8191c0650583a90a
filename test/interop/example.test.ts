/**
 * Runs examples/reverb as its users do: the actors must use the learner's weights, the learner must learn, and the program must leave no process or file
 * behind, however it ends.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { root } from "../support/core.ts";
import { python } from "./peer.ts";

const folder = join(root, "examples/reverb");
const program = join(folder, "main.js");
const temporary = mkdtempSync(join(tmpdir(), "reprise-"));
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

/** Returns the IDs of the running processes whose folder for temporary files is `temporary`. */
function living(): string[] {
  return readdirSync("/proc").filter((id) => {
    try {
      return (
        /^\d+$/.test(id) &&
        readFileSync(`/proc/${id}/environ`, "utf8").includes(`TMPDIR=${temporary}\0`) &&
        !/\) Z /.test(readFileSync(`/proc/${id}/stat`, "utf8"))
      );
    } catch {
      return false;
    }
  });
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const how = await Promise.race([once(socket, "connect").then(() => true), once(socket, "error").then(() => false)]).catch(() => false);
  socket.destroy();
  return how;
}

interface Begun {
  readonly child: ChildProcess;
  readonly port: number;
  said(): string;
}

/** Starts the example in a new process group, as a terminal does. Resolves when actors have played with weights that the learner has changed. */
async function begun(...args: string[]): Promise<Begun> {
  const child = spawn(process.execPath, [program, ...args], { detached: true, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, TMPDIR: temporary } });
  let out = "";
  await new Promise<void>((resolve, reject) => {
    const told = (bytes: Buffer) => {
      out += bytes;
      const [, updates] = [...out.matchAll(/learner +(\d+) updates/g)].at(-1) ?? [];
      if (Number(updates) >= 50) resolve();
    };
    child.stdout.on("data", told);
    child.stderr.on("data", told);
    child.on("exit", () => reject(new Error(out)));
  });
  return { child, port: Number(/127\.0\.0\.1:(\d+)/.exec(out)?.[1]), said: () => out };
}

async function nothingIsLeft(port: number): Promise<void> {
  for (let tries = 0; tries < 100 && living().length > 0; tries++) await after(100);
  expect({ living: living(), temporary: readdirSync(temporary), listens: await listens(port) }).toEqual({ living: [], temporary: [], listens: false });
}

it("the example's files have fewer than 120 lines, and the actor imports only public names", () => {
  const text = (name: string) => readFileSync(join(folder, name), "utf8");
  for (const name of readdirSync(folder)) expect(text(name).split("\n").length, name).toBeLessThan(120);
  const imported = [...text("actor.js").matchAll(/from "([^".][^"]*)"/g)].map(([, name]) => name);
  expect(imported).toEqual(["reprise", "reprise/agents", "reprise/reverb"]);
});

it("main.js names the missing Python, and rejects --actors 0", () => {
  const { status, stderr } = spawnSync(process.execPath, [program, "--python", "no-such-python"], { encoding: "utf8" });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/ENOENT.*--python names a Python with the packages of examples\/reverb\/requirements\.txt/)]);
  expect(spawnSync(process.execPath, [program, "--actors", "0"], { encoding: "utf8" }).stderr).toContain("take whole numbers above 0");
});

describe.skipIf(python === undefined)("with a server", { timeout: 900_000 }, () => {
  it("Ctrl-C ends all processes, and leaves no process or file behind", async () => {
    const { child, port, said } = await begun("--target", "500");
    expect(await listens(port)).toBe(true);
    expect(living().length).toBe(5);
    // A terminal sends the signal to the whole group.
    process.kill(-(child.pid as number), "SIGINT");
    const [status] = await once(child, "close");
    expect(status).toBe(130);
    expect(said()).toMatch(/Stopped: .*\d+ episodes of \d+ steps/);
    expect(said()).not.toMatch(/Traceback|has ended/);
    await nothingIsLeft(port);
  });

  it("a killed main.js leaves no process or file behind", async () => {
    const { child, port } = await begun("--target", "500", "--actors", "1");
    child.kill("SIGKILL");
    await nothingIsLeft(port);
  });

  it("the learner reaches a mean return of 100 (random actions reach 22)", async () => {
    const { child, port, said } = await begun("--target", "100", "--seconds", "240");
    const [status] = await once(child, "close");
    expect(status, said().slice(-2000)).toBe(0);
    expect(said()).toMatch(/Solved: .* [12345]\d\d\.\d, mean of 20 episodes/);
    await nothingIsLeft(port);
  });
});
