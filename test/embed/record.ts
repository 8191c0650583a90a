/**
 * The program that records: it writes the files of recorded.ts to dist/embed, and those that are timed, and prints a digest, the content of digest.txt; `record.mjs packed` that
 * of packed-digest.txt. Where an output is meant to change, `npm run build && node dist/embed/record.mjs > test/embed/digest.txt` keeps the new one.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { RECORDING_NAMES, record } from "./recorded.ts";
import { TIMED } from "./timed.ts";

const write = (name: string, bytes: Uint8Array) => writeFileSync(join(import.meta.dirname, `${name}.bin`), bytes);

const [, , shown = "operations"] = process.argv;
for (const name of RECORDING_NAMES) {
  const { file, digest } = record(name);
  write(name, file);
  if (name === shown) console.log(`digest ${digest}`);
}
for (const [name, make] of Object.entries(TIMED)) write(name, make());
