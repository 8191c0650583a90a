/** What a journal costs beside the plain calls of the file system: the same bytes, in the same blocks, to new files. */
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Log, node } from "../../dist/storage.js";

const BYTES = 128 << 20;
const ROUNDS = 7;
/** Sections of a group. */
const GROUP = 32;
/** Of the log: what it writes and reads at once. */
const WRITE_BYTES = 1 << 17;
const READ_BYTES = 1 << 20;
const MIB = 1 << 20;

/** Nanoseconds of a call. */
function timed(call) {
  const start = performance.now();
  call();
  return (performance.now() - start) * 1e6;
}

/** Something in a folder of its own, which is gone afterwards. */
function inFolder(call) {
  const folder = mkdtempSync(join(tmpdir(), "reprise-bench-"));
  try {
    return call(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The least of several rounds, each side first as often as the other. */
function rounds(measure) {
  const best = { ours: Number.POSITIVE_INFINITY, rival: Number.POSITIVE_INFINITY };
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? ["ours", "rival"] : ["rival", "ours"];
    for (const [side, time] of Object.entries(inFolder((folder) => measure(folder, order)))) best[side] = Math.min(best[side], time);
  }
  return best;
}

/** Writes about BYTES of sections. The system may keep them: nothing is synced. */
function append(folder, payload) {
  const log = Log.open(node(join(folder, "journal")), { about: {}, durability: "manual" });
  for (let done = 0, i = 0; done < BYTES; done += payload.length, i++) {
    log.write(32, i, payload);
    if (i % GROUP === 0) log.commit();
  }
  log.commit();
  return log;
}

/** What a journal of such payloads wrote, in memory. */
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
  const payload = new Uint8Array(size).map((_, i) => i * 31);
  const fact = () => {
    const bytes = inFolder((folder) => bytesOf(folder, payload));
    const sides = { ours: (folder) => append(folder, payload), rival: (folder) => plainWrite(folder, bytes) };
    return rounds((folder, order) => Object.fromEntries(order.map((side) => [side, perMib(timed(() => sides[side](folder)))])));
  };
  return { name: `journal append, sections of ${size} bytes`, unit: "µs/MiB", rivalName: "fs.writeSync of the same bytes, 128 KiB each", limit, fact };
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

function replayCase(size) {
  const payload = new Uint8Array(size).map((_, i) => i * 31);
  const sides = { ours: replay, rival: plainRead };
  const fact = () =>
    rounds((folder, order) => {
      plainWrite(folder, bytesOf(folder, payload));
      return Object.fromEntries(order.map((side) => [side, perMib(timed(() => sides[side](folder)))]));
    });
  return { name: `reopening a journal, sections of ${size} bytes`, unit: "µs/MiB", rivalName: "fs.readSync, 1 MiB each", fact };
}

/** 500 MB a second is what is promised. */
function limitCase(size) {
  const { name, unit, fact } = replayCase(size);
  return { name: `${name}, limit`, unit, rivalName: "500 MB/s", limit: 1, fact: () => ({ ours: fact().ours, rival: MIB / 500 }) };
}

/** Microseconds a MiB. */
function perMib(nanoseconds) {
  return nanoseconds / 1000 / (BYTES / MIB);
}

export const cases = [appendCase(28224, 0.6), appendCase(4096), appendCase(256), replayCase(28224), replayCase(4096), limitCase(28224), limitCase(256)];
