// Tests disks that fill up and get free space again. No call may be lost or half done, acknowledged steps must exist, and all steps must exist after there is
// space.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Replay } from "reprise";
import { memory } from "reprise/storage";
import { act, countsOf, digestOf, KINDS, NAMES, Past, randomOf } from "./world.mjs";

const CALLS = 150;
const MODES = ["manual", "always"];

export async function fullDisk(first, runs, seed) {
  const failures = [];
  const counts = { calls: 0, refused: 0 };
  for (let run = first; run < first + runs; run++) {
    const kind = NAMES[run % NAMES.length];
    try {
      await inMemory(kind, MODES[run % MODES.length], randomOf(seed + run), counts);
    } catch (error) {
      failures.push(`seed ${seed}, full disk ${run} (${kind}): ${error.message}`);
      console.error(failures.at(-1));
    }
  }
  return { counts, failures };
}

async function inMemory(kind, durability, random, counts) {
  let full = 0;
  const dir = memory({
    fault: ({ kind: call }) => {
      if (full === 0 || call === "read" || call === "remove") return undefined;
      full--;
      return call === "sync" ? undefined : { code: "ENOSPC", bytes: call === "write" ? random(60) : 0 };
    },
  });
  const replay = await Replay.open({ dir, ...KINDS[kind].options, durability, segmentBytes: 4096, logger: null });
  const [past, calls] = [new Past(durability === "manual"), randomOf(random(1e9))];
  past.note(replay);
  await replay.flush();
  for (let k = 0; k < CALLS; k++) {
    if (full === 0 && random(15) === 0) full = 1 + random(20);
    const before = countsOf(replay);
    counts.calls++;
    try {
      act(kind, replay, calls);
    } catch (error) {
      if (error.code !== "IO") throw error;
      counts.refused++;
      if (countsOf(replay) !== before) throw new Error("a call that was refused has changed something");
    }
    past.note(replay);
    if (random(8) === 0) {
      await replay.flush().then(
        () => (past.acknowledged = past.calls),
        (error) => {
          if (error.code !== "IO") throw error;
        },
      );
    }
    if (random(10) > 0) continue;
    const left = await Replay.open({ dir: dir.crash(random(dir.unsynced + 1)), durability: "manual", logger: null });
    if (past.find(left) < past.acknowledged)
      throw new Error(`after a crash the state is that of call ${past.find(left)}, ${past.acknowledged} were acknowledged`);
    left.dispose();
  }
  full = 0;
  await replay.flush();
  const last = await Replay.open({ dir: dir.crash(), durability: "manual", logger: null });
  if (digestOf(last) !== digestOf(replay)) throw new Error("there is room again, and not all is there");
}

/** Mounts a real small file system if possible. */
export async function mounted() {
  const failures = [];
  const path = mkdtempSync(join(tmpdir(), "reprise-full-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", path], { stdio: "ignore" });
  } catch {
    console.log("full disks: SKIPPED on a real file system: mounting one needs root");
    rmSync(path, { recursive: true });
    return { passed: 0, failures };
  }
  try {
    const warned = [];
    const options = { ...KINDS.text.options, durability: { everyMs: 5 }, retain: "all", segmentBytes: 32_768, logger: (message) => warned.push(message) };
    const replay = await Replay.open({ dir: join(path, "run"), ...options });
    writeFileSync(join(path, "ballast"), new Uint8Array(100_000));
    const random = randomOf(1);
    let refused = 0;
    for (let k = 0; k < 2000; k++) {
      const before = countsOf(replay);
      try {
        act("text", replay, random);
      } catch (error) {
        if (error.code !== "IO" || countsOf(replay) !== before) throw error;
        refused++;
        if (refused === 3) unlinkSync(join(path, "ballast"));
        if (refused === 6) break;
      }
      if (k % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 6));
    }
    if (refused < 6 || warned.length === 0) throw new Error(`it was full, and ${refused} calls and ${warned.length} warnings said so`);
    console.log(`full disks: 1 on a real file system; ${refused} calls were refused, ${warned.length} warnings`);
  } catch (error) {
    failures.push(`full disk, mounted: ${error.message}`);
    console.error(failures.at(-1));
  } finally {
    execFileSync("umount", ["-l", path]);
    rmSync(path, { recursive: true, force: true });
  }
  return { passed: 1 - failures.length, failures };
}
