/** What a page has to load. */
import { readFileSync, statSync } from "node:fs";
import { gzipSync } from "node:zlib";

const dist = new URL("../../dist/", import.meta.url);

function size(name, limit, measure) {
  return { name, unit: "bytes", rivalName: "limit", limit: 1, fact: () => ({ ours: measure(), rival: limit }) };
}

export const cases = [
  size("core.wasm", 32 * 1024, () => statSync(new URL("core.wasm", dist)).size),
  size("main entry with the core, gzip", 25 * 1024, () => gzipSync(readFileSync(new URL("index.js", dist)), { level: 9 }).length),
];
