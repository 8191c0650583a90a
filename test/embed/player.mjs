/**
 * Plays a file of recorded operations in the layout of operation.ts. `play` returns the digest of all results. `time` measures the operations after `clock`.
 */
import { CLOCK, Host, SAMPLE, STATS } from "./player-host.mjs";

const COUNTERS = 12;
const PASSES = 5;

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

/** Returns the CRC-32 of bytes, continued from `crc`, the CRC-32 of the bytes before them. */
export function crc32(bytes, crc = 0) {
  let sum = ~crc;
  for (let i = 0; i < bytes.length; i++) sum = CRC[(sum ^ bytes[i]) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}

/** Returns the digest: 8 hexadecimal digits. */
export function play(module, file) {
  const { text, operations } = read(file);
  const host = new Host(module, text);
  let crc = 0;
  const fold = (bytes) => {
    crc = crc32(bytes, crc);
  };
  for (const operation of operations) {
    const result = host.play(operation);
    fold(new Uint8Array(Int32Array.of(result).buffer));
    if (result < 0) fold(new TextEncoder().encode(host.error().split(":")[0]));
    else if (operation.call === SAMPLE) host.columns(operation.args[0], fold);
    else if (operation.call === STATS) fold(host.bytes.subarray(host.told, host.told + 8 * COUNTERS));
  }
  return crc.toString(16).padStart(8, "0");
}

/** Returns the total time in nanoseconds of the operations after `clock`, as the median of several passes. */
export function time(module, file) {
  const { text, operations } = read(file);
  const host = new Host(module, text);
  const clock = operations.findIndex(({ call }) => call === CLOCK);
  let own = new Uint8Array(0);
  let end = 0;
  const copy = (bytes) => {
    if (end + bytes.length > own.length) own = new Uint8Array(2 * (end + bytes.length));
    own.set(bytes, end);
    end += bytes.length;
  };
  const pass = (some) => {
    const start = performance.now();
    for (const operation of some) {
      if (host.play(operation) < 0) throw new Error(host.error());
      if (operation.call !== SAMPLE) continue;
      end = 0;
      host.columns(operation.args[0], copy);
    }
    return 1e6 * (performance.now() - start);
  };
  pass(operations.slice(0, clock));
  const timed = operations.slice(clock + 1);
  const passes = Array.from({ length: PASSES }, () => pass(timed)).sort((a, b) => a - b);
  return passes[PASSES >> 1];
}

/** Returns the text of a Replay, and the operations on it. */
function read(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (view.getUint32(0, true) !== 0x504f5052 || view.getUint32(4, true) !== 1) throw new Error("the file is not a file of operations, or has another version");
  const padded = (bytes) => (bytes + 7) & ~7;
  const textBytes = view.getUint32(12, true);
  let at = 16 + padded(textBytes);
  const operations = Array.from({ length: view.getUint32(8, true) }, () => {
    const [call, count, bytes] = [view.getUint8(at), view.getUint8(at + 1), view.getUint32(at + 4, true)];
    const numbers = Array.from({ length: count }, (_, i) => view.getFloat64(at + 8 + 8 * i, true));
    const from = at + 8 + 8 * count;
    at = from + padded(bytes);
    // Typical programs pass integers, and engines convert doubles slowly at each call. Only the last argument may be a fraction.
    return { call, args: Int32Array.from(numbers), last: numbers.at(-1), payload: file.subarray(from, from + bytes) };
  });
  return { text: file.subarray(16, 16 + textBytes), operations };
}
