// Runs actors over sockets, and kills their server repeatedly. With confirm: "disk", no step may be lost or arrive twice. `npm run soak:sockets [-- KILLS
// ACTORS STEPS]` sets the number of kills (200), of actors (8), and of all of their steps together (a million).
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Replay } from "reprise";
import { f32, i32, remoteWriter } from "reprise/remote";
import { WebSocket } from "ws";

const [KILLS = 200, ACTORS = 8, ALL = 1_000_000] = process.argv.slice(2).map(Number);
const STEPS = Math.ceil(ALL / ACTORS);
const SERVER = fileURLToPath(new URL("./sockets/server.mjs", import.meta.url));
const spec = { actor: i32(), n: i32(), x: f32(4) };
const dir = mkdtempSync(join(tmpdir(), "reprise-sockets-"));
const faults = [];
let server;
let port;
let isOver = false;

async function start() {
  const child = fork(SERVER, [dir, String(ACTORS * STEPS)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const ended = once(child, "exit");
  child.on("message", ({ refused }) => refused && !/^(CLOSED|TIMEOUT)/.test(refused) && faults.push(refused));
  for (;;) {
    const [message] = await Promise.race([once(child, "message"), ended]);
    if (message?.port !== undefined) port = message.port;
    else if (typeof message !== "object" || message === null) throw new Error(`the server ended with ${message}`);
    if (message.port !== undefined) break;
  }
  server = { child, ended };
}

const writers = [];
let written = 0;
let confirmed = 0;

async function act(actor) {
  const connect = () => new WebSocket(`ws://127.0.0.1:${port}/actor-${actor}`);
  const writer = await remoteWriter(connect, { spec, reconnectTimeoutMs: Number.POSITIVE_INFINITY });
  writers.push(writer);
  const x = new Float32Array(4);
  for (let n = 0; n < STEPS; ) {
    if (n % 1000 === 500) {
      const count = Math.min(100, STEPS - n);
      const ns = Array.from({ length: count }, (_, i) => n + i);
      await writer.appendColumns({ actor: ns.map(() => actor), n: ns, x: Float32Array.from({ length: 4 * count }, (_, i) => n + (i >> 2)) });
      n += count;
      written += count;
    } else {
      x.fill(n);
      await writer.append({ actor, n, x });
      n++;
      written++;
    }
    if (n % 777 === 0) await writer.endEpisode();
    if (n % 100 === 0) await later(0);
  }
  await writer.close();
  confirmed += STEPS;
}

const begin = performance.now();
await start();
const acting = Promise.all(Array.from({ length: ACTORS }, (_, actor) => act(actor))).finally(() => {
  isOver = true;
});
acting.catch(() => {});
let kills = 0;
let seed = 1;
while (kills < KILLS && !isOver) {
  // Kills depend on the number of written steps, so that each kill interrupts steps in flight on any machine.
  while (written < ((kills + 1) * ALL) / (KILLS + 1) && !isOver) await later(1);
  seed = (seed * 1103515245 + 12345) % 2 ** 31;
  await later(seed % 30);
  if (isOver) break;
  server.child.kill("SIGKILL");
  await server.ended;
  kills++;
  await start();
}
try {
  await acting;
} catch (error) {
  faults.push(`an actor: ${error.message}`);
}
const answer = once(server.child, "message");
server.child.send("memory");
const [{ resident, writers: open }] = await answer;
server.child.send("end");
await server.ended;
const replay = await Replay.open({ dir, logger: null });
const { t } = replay.tables;
const next = new Array(ACTORS).fill(0);
let wrong = 0;
const { steps } = t.sample(t.size, { replacement: false });
for (let i = 0; i < t.size; i++) if (steps.n.data[i] !== next[steps.actor.data[i]]++ || steps.x.data[4 * i] !== steps.n.data[i]) wrong++;
const seconds = (performance.now() - begin) / 1000;
console.log(
  `${kills} kills of the server, ${ACTORS} actors, ${t.size} steps in ${seconds.toFixed(1)} s; the last server had ${(resident / 2 ** 20).toFixed(0)} MB`,
);
if (kills < KILLS) faults.push(`only ${kills} kills, since all was written by then`);
if (wrong > 0) faults.push(`${wrong} steps are lost, doubled or out of order`);
if (next.some((n) => n !== STEPS)) faults.push(`of ${STEPS} steps each, ${next.join(", ")} are there`);
if (confirmed !== ACTORS * STEPS) faults.push(`${confirmed} steps were confirmed`);
if (open > 0 || replay.writers.length > 0) faults.push(`${open} writers are left open`);
replay.dispose();
rmSync(dir, { recursive: true });
for (const fault of faults) console.error(fault);
console.log(`${faults.length === 0 ? 1 : 0} passed, ${faults.length} failed`);
process.exit(faults.length === 0 ? 0 : 1);
