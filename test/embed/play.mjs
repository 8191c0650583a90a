// Plays files of operations in Node, Deno or Bun. `play.mjs EMBED.wasm FILE` prints the digest, and `play.mjs EMBED.wasm --time FILE…` the time of each file.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { play, time } from "./player.mjs";

const [wasm, ...rest] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(wasm));
const timed = rest[0] === "--time";
for (const file of rest.slice(Number(timed))) {
  const bytes = new Uint8Array(readFileSync(file));
  console.log(timed ? `${basename(file, ".bin")}  ${Math.round(time(module, bytes))} ns` : `digest ${play(module, bytes)}`);
}
