/** Measures the cost of a journal, compared with plain file system calls: the same bytes, in the same blocks, to new files. */
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fullTable, journaledTable } from "../filled.mjs";
import { now } from "../measure.mjs";
import { entry, prioritized, uniform } from "../package.mjs";
import { BATCH, STEPS } from "../source.mjs";
import { sampling } from "./sample.mjs";

const { Log, node } = await entry("storage");
const BYTES = 128 << 20;
const ROUNDS = 7;
/** The number of sections per commit. */
const GROUP = 32;
/** The number of bytes per write of a log. READ_BYTES is the number of bytes per read. The plain file system calls use the same numbers. */
const WRITE_BYTES = 1 << 17;
const READ_BYTES = 1 << 20;
const MIB = 1 << 20;

/** Returns the nanoseconds per MiB of a call that processes BYTES bytes. */
function timed(call) {
  const start = now();
  call();
  return ((now() - start) * 1e6) / (BYTES / MIB);
}

/** Returns a folder that is deleted when the process ends. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "reprise-bench-"));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Returns the nanoseconds per MiB of a call in a new folder, which is deleted afterwards. */
function inFolder(call) {
  const path = folder();
  try {
    return timed(() => call(path));
  } finally {
    rmSync(path, { recursive: true });
  }
}

const payloadOf = (size) => new Uint8Array(size).map((_, i) => i * 31);

/** Writes about BYTES bytes to a new log without syncing, so the system may cache them. @param payload the payload of each section */
function append(folder, payload) {
  const log = Log.open(node(join(folder, "journal")), { about: {}, durability: "manual" });
  for (let done = 0, i = 0; done < BYTES; done += payload.length, i++) {
    log.write(32, i, payload);
    if (i % GROUP === 0) log.commit();
  }
  log.commit();
  return log;
}

/** Writes a journal with copies of `payload` to the folder, and returns the contents of all its files, one after the other. */
function bytesOf(folder, payload) {
  append(folder, payload).close();
  const journal = join(folder, "journal");
  const files = readdirSync(journal).filter((name) => name.endsWith(".rpr"));
  return Buffer.concat(files.sort().map((name) => readFileSync(join(journal, name))));
}

function plainWrite(folder, bytes) {
  const file = openSync(join(folder, "plain"), "w");
  for (let at = 0; at < bytes.length; at += WRITE_BYTES) writeSync(file, bytes, at, Math.min(WRITE_BYTES, bytes.length - at), at);
  closeSync(file);
}

function appendCase(size, limit) {
  const ours = () => {
    const payload = payloadOf(size);
    return () => inFolder((folder) => append(folder, payload));
  };
  const rival = () => {
    const path = folder();
    const bytes = bytesOf(path, payloadOf(size));
    rmSync(path, { recursive: true });
    return () => inFolder((folder) => plainWrite(folder, bytes));
  };
  const rivalName = "fs.writeSync of the same bytes, 128 KiB each";
  return { name: `journal append, sections of ${size} bytes`, unit: "µs/MiB", rivalName, limit, laps: true, rounds: ROUNDS, ours, rival };
}

function replay(folder) {
  const log = Log.open(node(join(folder, "journal")), { about: {}, readOnly: true });
  let sum = 0;
  for (const _ of log.replay((_kind, _id, payload) => (sum += payload[0])));
  return sum;
}

function plainRead(folder) {
  const block = new Uint8Array(READ_BYTES);
  const file = openSync(join(folder, "plain"), "r");
  for (let at = 0; at < BYTES; at += READ_BYTES) readSync(file, block, 0, READ_BYTES, at);
  closeSync(file);
}

function replayCase(size, rest) {
  const ours = () => {
    const path = folder();
    append(path, payloadOf(size)).close();
    return () => timed(() => replay(path));
  };
  const rival = () => {
    const path = folder();
    plainWrite(path, bytesOf(path, payloadOf(size)));
    return () => timed(() => plainRead(path));
  };
  const name = `reopening a journal, sections of ${size} bytes`;
  return { name, unit: "µs/MiB", rivalName: "fs.readSync, 1 MiB each", laps: true, rounds: ROUNDS, ours, rival, ...rest };
}

/** Compares with the 500 MB per second that the documentation promises. */
function limitCase(size, again) {
  const name = `reopening a journal, sections of ${size} bytes, limit`;
  return replayCase(size, { name, again, rivalName: "500 MB/s", limit: 1, rival: () => () => (MIB / 500) * 1000 });
}

/** Compares draws from a table with a journal to draws without one. The journal is written to the disk once per second, also during the draws. */
function drawCase(name, sampler, rest) {
  const ours = async () => sampling(await journaledTable(folder(), STEPS, sampler));
  const rival = () => sampling(fullTable(STEPS, sampler).table);
  return { name: `${name} sample of ${BATCH} under a journal`, unit: "µs/batch", rivalName: "without a journal", ours, rival, ...rest };
}

export const cases = [
  appendCase(28224, 0.6),
  appendCase(4096),
  appendCase(256),
  replayCase(28224),
  replayCase(4096),
  limitCase(28224, true),
  limitCase(256),
  drawCase("uniform", uniform(), { limit: 0.77 }),
  drawCase("prioritized", prioritized(0.6), { again: true }),
];
