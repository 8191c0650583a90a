/**
 * The program that records: it writes dist/embed/operations.bin, and the files that are timed, and prints the digest, the content of digest.txt. Where an output is meant to
 * change, `npm run build && node dist/embed/record.mjs > test/embed/digest.txt` keeps the new one.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { record } from "./recorded.ts";
import { TIMED } from "./timed.ts";

const write = (name: string, bytes: Uint8Array) => writeFileSync(join(import.meta.dirname, `${name}.bin`), bytes);

const { file, digest } = record();
write("operations", file);
for (const [name, make] of Object.entries(TIMED)) write(name, make());
console.log(`digest ${digest}`);
