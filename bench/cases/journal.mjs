/** What a journal costs beside the plain calls of the file system: the same bytes, in the same blocks, to new files. */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Log, node } from "../../dist/storage.js";

const BYTES = 128 << 20;
const ROUNDS = 7;
/** Sections of a group. */
const GROUP = 32;
/** Of the log: what it writes and reads at once. */
const WRITE_BYTES = 1 << 18;
const READ_BYTES = 1 << 20;
const MIB = 1 << 20;

/** Nanoseconds of a call. */
function timed(call) {
  const start = performance.now();
  call();
  return (performance.now() - start) * 1e6;
}

/** The least of several rounds of each side, in turns, in a new folder each. */
function rounds(measure) {
  const best = { ours: Number.POSITIVE_INFINITY, rival: Number.POSITIVE_INFINITY };
  for (let round = 0; round < ROUNDS; round++) {
    const folder = mkdtempSync(join(tmpdir(), "reprise-bench-"));
    try {
      for (const [side, time] of Object.entries(measure(folder, round % 2 === 0))) best[side] = Math.min(best[side], time);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  return best;
}

/** Writes about BYTES of sections; how many bytes that came to. The system may keep them: nothing is synced. */
function append(folder, payload) {
  const log = Log.open(node(join(folder, "journal")), { about: {}, durability: "manual" });
  for (let done = 0, i = 0; done < BYTES; done += payload.length, i++) {
    log.write(32, i, payload);
    if (i % GROUP === 0) log.commit();
  }
  log.commit();
  const bytes = log.segments.reduce((sum, one) => sum + one.bytes, 0);
  return { log, bytes };
}

function plainWrite(folder, bytes) {
  const block = new Uint8Array(WRITE_BYTES).fill(7);
  const file = openSync(join(folder, "plain"), "w");
  for (let at = 0; at < bytes; at += WRITE_BYTES) writeSync(file, block, 0, WRITE_BYTES, at);
  closeSync(file);
}

function appendCase(size, limit) {
  const payload = new Uint8Array(size).map((_, i) => i * 31);
  const measure = (folder, oursFirst) => {
    const ours = () => timed(() => append(folder, payload));
    const rival = () => timed(() => plainWrite(folder, BYTES));
    const first = oursFirst ? ours() : rival();
    const second = oursFirst ? rival() : ours();
    return { ours: perMib(oursFirst ? first : second), rival: perMib(oursFirst ? second : first) };
  };
  return {
    name: `journal append, sections of ${size} bytes`,
    unit: "µs/MiB",
    rivalName: "fs.writeSync in blocks of 256 KiB",
    limit,
    fact: () => rounds(measure),
  };
}

function replayCase(size, limit) {
  const payload = new Uint8Array(size).map((_, i) => i * 31);
  const measure = (folder) => {
    const { log } = append(folder, payload);
    log.close();
    plainWrite(folder, BYTES);
    let sum = 0;
    const ours = timed(() => {
      const again = Log.open(node(join(folder, "journal")), { about: {}, readOnly: true });
      for (const _ of again.replay((_kind, _id, bytes) => (sum += bytes[0])));
    });
    const block = new Uint8Array(READ_BYTES);
    const rival = timed(() => {
      const file = openSync(join(folder, "plain"), "r");
      for (let at = 0; at < BYTES; at += READ_BYTES) sum += readSync(file, block, 0, READ_BYTES, at);
      closeSync(file);
    });
    if (!(sum > 0)) throw new Error("nothing was read");
    return { ours: perMib(ours), rival: perMib(rival) };
  };
  return {
    name: `reopening a journal, sections of ${size} bytes`,
    unit: "µs/MiB",
    rivalName: "fs.readSync in blocks of 1 MiB",
    limit,
    fact: () => rounds(measure),
  };
}

/** Microseconds a MiB. */
function perMib(nanoseconds) {
  return nanoseconds / 1000 / (BYTES / MIB);
}

export const cases = [appendCase(28224, 0.6), appendCase(4096), appendCase(256), replayCase(28224, 0.5), replayCase(4096), replayCase(256)];
