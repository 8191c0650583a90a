/**
 * Tests examples/edge: a Durable Object per game in workerd, and a server in Deno with files. Both are killed while actors write and a learner pulls. `npm run
 * runtimes` installs both.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { runtimes } from "../../build/runtimes.mjs";
import { learner } from "../../examples/edge/learner.js";
import { f32, i32, remoteWriter } from "../../src/remote/index.ts";
import { root } from "../support/core.ts";
import { scaled, whole } from "../support/size.ts";
import { bundleWorker, serveWorker } from "../support/workerd.mjs";

const here = runtimes();
const required = process.env.REPRISE_RUNTIMES === "all";
const spec = { observation: f32(4), action: i32(), reward: f32() };
const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A server that can be killed and restarted in the same place. */
interface Host {
  address: string;
  readonly process: ChildProcess;
  end(): Promise<void>;
}

const HOSTS = {
  async workerd(folder: string): Promise<() => Promise<Host>> {
    const modules = await bundleWorker(join(root, "examples/edge/worker.js"), folder);
    return async () => await serveWorker(here.workerd as string, folder, { modules, objects: { GAMES: "Game" } });
  },
  async deno(folder: string): Promise<() => Promise<Host>> {
    const allowed = ["--allow-net=127.0.0.1", `--allow-read=${folder}`, `--allow-write=${folder}`];
    return async () => {
      const child = spawn(here.deno as string, ["run", "--allow-env", "--allow-sys=hostname", ...allowed, "examples/edge/deno.js", folder, "0"], {
        cwd: root,
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "exit");
      const [line] = await once(child.stdout as NodeJS.ReadableStream, "data");
      return {
        address: String(line).trim(),
        process: child,
        async end() {
          child.kill("SIGKILL");
          await ended;
        },
      };
    };
  },
} as const;

/** Returns the resident memory of a process in MiB. */
function residentMiB({ pid }: ChildProcess): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

const ready = { workerd: here.workerd !== undefined || required, deno: here.deno !== undefined || required };

describe.each(["workerd", "deno"] as const)("the games of examples/edge in %s", (name) => {
  describe.runIf(whole && ready[name])("with a running server", () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-edge-"));
    let start: () => Promise<Host>;
    let host: Host;
    beforeAll(async () => {
      start = await HOSTS[name](folder);
      host = await start();
    });
    afterAll(async () => {
      await host?.end();
      rmSync(folder, { recursive: true });
    });

    const url = (game: string, what: string) => `${host.address}/games/${game}/${what}`;
    const dial = (game: string) => () => new WebSocket(url(game, "actor").replace("http", "ws"));
    const learnerOf = (game: string) =>
      learner("", async (path: string) => new Uint8Array(await (await fetch(`${host.address}/games/${game}${path}`)).arrayBuffer()));

    /** Writes episodes whose steps contain the actor and a sequence number. */
    async function play(game: string, actor: number, steps: number): Promise<void> {
      const writer = await remoteWriter(dial(game), { spec });
      for (let t = 0; t < steps; t++) {
        await writer.append({ observation: [actor, t, 0, 0], action: t, reward: 1 });
        if (t % 10 === 9) await writer.endEpisode({ final: { observation: [actor, t + 1, 0, 0] }, terminated: t % 20 === 19 });
      }
      await writer.close();
    }

    /** Returns the numbers of each actor's steps in a learner's Replay, in order of arrival. */
    function stepsOf({ replay }: ReturnType<typeof learner>): Map<number, number[]> {
      const seen = new Map<number, number[]>();
      const order: [key: number, actor: number, t: number][] = [];
      for (const { info, steps, count } of replay.tables.transitions.dataset({ batchSize: 256, epochs: 1 })) {
        const { observation, nextObservation, returns, discounts } = steps as unknown as { [leaf: string]: { data: Float32Array } };
        for (let i = 0; i < count; i++) {
          const [actor, t] = [observation?.data[4 * i] as number, observation?.data[4 * i + 1] as number];
          order.push([info.keys[i] as number, actor, t]);
          expect([nextObservation?.data[4 * i], nextObservation?.data[4 * i + 1], returns?.data[i]]).toEqual([actor, t + 1, 1]);
          expect(discounts?.data[i]).toBe(t % 20 === 19 ? 0 : Math.fround(0.99));
        }
      }
      for (const [, actor, t] of order.sort(([a], [b]) => a - b)) seen.set(actor, [...(seen.get(actor) ?? []), t]);
      return seen;
    }

    // The timeout only stops tests that hang. On a busy machine, each start of a server takes seconds.
    it("lose and duplicate no steps when the server is killed repeatedly", { timeout: 900_000 }, async () => {
      const [actors, steps] = [4, scaled(4000)];
      const one = learnerOf("kept");
      let isOver = false;
      const playing = Promise.all(Array.from({ length: actors }, (_, actor) => play("kept", actor, steps)));
      const pulling = (async () => {
        for (let last = -1; last !== 0 || !isOver; ) {
          const wasOver = isOver;
          last = await one.pull().catch(() => -1);
          if (!wasOver && last <= 0) last = -1;
          if (last <= 0) await later(20);
        }
      })();
      for (let kill = 0; kill < scaled(6); kill++) {
        await later(250);
        await host.end();
        host = await start();
      }
      await playing;
      isOver = true;
      await pulling;
      const seen = stepsOf(one);
      for (let actor = 0; actor < actors; actor++) expect(seen.get(actor)).toEqual(Array.from({ length: steps }, (_, t) => t));
    });

    it("stay within 100 MiB of additional process memory when a game is full", { timeout: 180_000 }, async () => {
      const before = residentMiB(host.process);
      const game = "full";
      await Promise.all(
        Array.from({ length: 4 }, async (_, actor) => {
          const writer = await remoteWriter(dial(game), { spec });
          const rows = 500;
          const columns = { observation: new Float32Array(4 * rows).fill(actor), action: new Int32Array(rows), reward: new Float32Array(rows) };
          const ends = new Uint8Array(rows);
          for (let k = 0; k < 280; k++) await writer.appendColumns(columns, { truncated: ends });
          await writer.close();
        }),
      );
      const { tables, bytes } = await (await fetch(url(game, "stats"))).json();
      expect(tables.experience.size).toBe(500_000);
      expect(bytes.used).toBeLessThanOrEqual(64 * 2 ** 20);
      const grown = residentMiB(host.process) - before;
      console.log(
        `${name}: ${before.toFixed(0)} MiB, and ${grown.toFixed(0)} MiB more with a full game, whose Replay has ${(bytes.used / 2 ** 20).toFixed(1)} MiB`,
      );
      expect(grown).toBeLessThan(100);
    });

    it("reject invalid names, and actors above the limit", async () => {
      expect((await fetch(`${host.address}/games/a%2Fb/stats`)).status).toBe(404);
      const sockets: WebSocket[] = [];
      for (let k = 0; k < 16; k++) {
        const socket = dial("crowd")();
        sockets.push(socket);
        await once(socket, "open");
      }
      const [error] = await once(dial("crowd")(), "error");
      expect(String(error)).toMatch(/503/);
      for (const socket of sockets) socket.terminate();
    });
  });
});

describe.runIf(whole && ready.workerd)("a game in workerd with silent actors", () => {
  it("is evicted, and continues with the next step", { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-edge-"));
    const host = await (await HOSTS.workerd(folder))();
    const instance = async (game: string) => (await (await fetch(`${host.address}/games/${game}/stats`)).json()).instance as string;
    const messages: unknown[] = [];
    const writer = await remoteWriter(() => new WebSocket(`${host.address.replace("http", "ws")}/games/idle/actor`), { spec });
    const append = (t: number) => writer.append({ observation: [7, t, 0, 0], action: t, reward: 1 });
    for (let t = 0; t < 5; t++) await append(t);
    await writer.flush();
    const first = await instance("idle");
    // workerd evicts an object after ten seconds without a call. Its sockets stay open.
    await later(15_000);
    for (let t = 5; t < 10; t++) await append(t);
    await writer.endEpisode({ final: { observation: [7, 10, 0, 0] }, terminated: false });
    await writer.close();
    expect(await instance("idle")).not.toBe(first);
    const one = learner(`${host.address}/games/idle`);
    await one.pull();
    expect(one.replay.tables.transitions.size).toBe(10);
    expect(messages).toEqual([]);
    await host.end();
    rmSync(folder, { recursive: true });
  });
});
