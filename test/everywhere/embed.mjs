// What every host of embed.wasm prints that plays dist/embed/operations.bin.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../build/step.mjs";

/** `digest XXXXXXXX`, as TypeScript gives it. */
export const EMBED = readFileSync(join(root, "test/embed/digest.txt"), "utf8").trim();
