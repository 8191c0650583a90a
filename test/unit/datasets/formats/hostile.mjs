// `node hostile.mjs MUTANTS SEED FILE…` opens damaged copies of each file, reads the intact parts, and prints the outcomes. It runs in a separate process, so
// that a hanging reader can be killed.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { openRlds } from "../../../../dist/rlds.js";

// Creates a generator of numbers in 0 … 2³² - 1 (mulberry32).
function randoms(seed) {
  let a = seed | 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

// Returns damaged bytes: with flipped bits, overwritten bytes or numbers, or a part cut, moved or duplicated.
function mutant(bytes, random) {
  const below = (n) => random() % Math.max(1, n);
  let out = bytes.slice();
  for (let n = 1 + below(4); n > 0; n--) {
    const at = below(out.length);
    const kind = below(8);
    const part = out.slice(at, at + 1 + below(64));
    if (kind === 0) out = out.slice(0, at);
    else if (kind === 1) out.set(part.slice(0, Math.max(0, out.length - 64)), below(out.length - part.length));
    else if (kind === 2) out.fill([0, 255, 1, 127][below(4)], at, at + 1 + below(16));
    else if (kind === 3) out = Uint8Array.from([...out.subarray(0, at), ...part, ...out.subarray(at)]);
    else if (kind === 4 && at + 8 < out.length) new DataView(out.buffer).setBigUint64(at, BigInt(below(3) === 0 ? 2 ** 40 : below(2 ** 31)), true);
    else out[at] = kind < 6 ? out[at] ^ (1 << below(8)) : below(256);
    if (out.length === 0) return out;
  }
  return out;
}

const [mutants, seed, ...files] = process.argv.slice(2);
const random = randoms(Number(seed));
const told = { read: 0, refused: 0, wrong: [], slowest: 0, maxMegabytes: 0 };
for (const path of files) {
  const bytes = new Uint8Array(readFileSync(path));
  for (let i = 0; i < Number(mutants); i++) {
    const begin = performance.now();
    try {
      const reader = await openRlds(new File([mutant(bytes, random)], basename(path)), { maxBytes: 2 ** 24 });
      try {
        for await (const { steps } of reader) for (const step of steps) if (step.observation === undefined) throw new Error("a step without an observation");
      } finally {
        await reader.close();
      }
      told.read++;
    } catch (error) {
      if (error.name === "RldsError" && typeof error.file === "string") told.refused++;
      else told.wrong.push(`${basename(path)} ${i}: ${error.stack ?? error}`);
    }
    told.slowest = Math.max(told.slowest, performance.now() - begin);
    told.maxMegabytes = Math.max(told.maxMegabytes, process.memoryUsage().rss / 2 ** 20);
  }
}
console.log(JSON.stringify(told));
