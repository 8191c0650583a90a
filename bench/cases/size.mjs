/** What a page has to load. */
import { readFileSync, statSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dist } from "../package.mjs";

function size(name, limit, measure) {
  return { name, unit: "bytes", rivalName: "limit", limit: 1, fact: () => ({ ours: measure(), rival: limit }) };
}

/** A file and those that it imports, each once. */
function closure(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  const code = readFileSync(new URL(name, dist), "utf8");
  for (const [, other] of code.matchAll(/\b(?:from|import)\s*"\.\/([^"]+\.js)"/g)) closure(other, found);
  return found;
}

/** Of each file by itself, as a server sends it. */
const gzip = (name) => gzipSync(readFileSync(new URL(name, dist)), { level: 9 }).length;

export const cases = [
  size("core.wasm", 32 * 1024, () => statSync(new URL("core.wasm", dist)).size),
  size("main entry with the core, gzip", 25 * 1024, () => [...closure("index.js")].reduce((sum, name) => sum + gzip(name), 0)),
];
