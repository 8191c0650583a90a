// Kills processes at random moments. Each process must leave the state after one of its calls, which must not be earlier than the last acknowledged call.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Replay } from "reprise";
import { act, futureOf, KINDS, NAMES, randomOf, totalsOf } from "./world.mjs";

const WRITER = fileURLToPath(new URL("writer.mjs", import.meta.url));
const MODES = ["manual", "always", "often"];
/** The number of kills per directory. */
const EACH = 25;
const MOST = 5000;

export async function kills(runs, seed) {
  const counts = { kills: 0, opening: 0, acknowledged: 0, found: 0, failures: [] };
  let next = 0;
  const lane = async () => {
    while (next < runs) {
      const first = next;
      next += Math.min(EACH, runs - next);
      await sessions(first, Math.min(EACH, runs - first), seed, counts);
    }
  };
  await Promise.all([lane(), lane()]);
  const { kills, opening, acknowledged, found, failures } = counts;
  console.log(`kills: ${kills}, ${opening} of them while opening; ${acknowledged} calls were acknowledged, ${found} found, ${failures.length} runs failed`);
  return { passed: kills - failures.length, failures };
}

/** Kills processes of one directory, one after the other. A Replay in memory makes the same calls. */
async function sessions(first, count, seed, counts) {
  const random = randomOf(seed + first);
  const kind = NAMES[random(NAMES.length)];
  const dir = mkdtempSync(join(tmpdir(), "reprise-crash-"));
  const twin = new Replay({ ...KINDS[kind].options, logger: null });
  try {
    for (let i = 0; i < count; i++) {
      const mode = MODES[random(MODES.length)];
      const name = `seed ${seed}, kill ${first + i} (${kind}, ${mode})`;
      const calls = seed + 7 * (first + i);
      const acknowledged = await killed([dir, kind, mode, String(calls)], random, counts);
      counts.kills++;
      try {
        counts.found += await found(dir, kind, twin, calls, acknowledged);
        counts.acknowledged += acknowledged;
      } catch (error) {
        counts.failures.push(`${name}: ${error.message}`);
        console.error(counts.failures.at(-1));
        return;
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
    twin.dispose();
  }
}

/** Starts a writer and kills it. Returns the number of calls that it reported as acknowledged. */
async function killed(args, random, counts) {
  const child = spawn(process.execPath, [WRITER, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  const spoke = new Promise((resolve) => {
    child.stdout.on("data", (chunk) => {
      said += chunk;
      resolve();
    });
  });
  const closed = new Promise((resolve) => child.on("close", (code) => resolve(code)));
  // A tenth of the processes is killed while it starts or opens.
  const early = random(10) === 0;
  if (!early) await Promise.race([spoke, closed]);
  await new Promise((resolve) => setTimeout(resolve, early ? 40 + random(80) : random(random(2) === 0 ? 200 : 40)));
  child.kill("SIGKILL");
  const code = await closed;
  if (code !== null) throw new Error(`the writer ended by itself with ${code}`);
  if (said === "") counts.opening++;
  // A number that was cut off is ignored.
  return Number(said.slice(0, said.lastIndexOf("\n")).split("\n").at(-1));
}

/** Opens the files that a process has left, and makes calls on the twin until both are equal. Returns the number of calls. */
async function found(dir, kind, twin, calls, acknowledged) {
  const replay = await Replay.open({ dir, ...KINDS[kind].options, durability: "manual", logger: null });
  try {
    const [totals, future] = [totalsOf(replay), futureOf(replay)];
    const random = randomOf(calls);
    for (let k = 0; k <= MOST; k++) {
      if (k >= acknowledged && totalsOf(twin) === totals && futureOf(twin) === future) return k;
      act(kind, twin, random);
    }
    throw new Error(`the state is that of no call from ${acknowledged} on`);
  } finally {
    replay.dispose();
  }
}
