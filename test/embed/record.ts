/**
 * Records files for other hosts: writes the files of recorded.ts and the timed files to dist/embed, and prints a digest, the content of digest.txt. `record.mjs
 * packed` prints the content of packed-digest.txt. If an output changes on purpose, `npm run build && node dist/embed/record.mjs > test/embed/digest.txt`
 * stores the new digest.
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
