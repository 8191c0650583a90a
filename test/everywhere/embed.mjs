// Exports the line that every host of embed.wasm prints after playing dist/embed/operations.bin.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../build/step.mjs";

/** `digest XXXXXXXX`, computed in TypeScript. */
export const EMBED = readFileSync(join(root, "test/embed/digest.txt"), "utf8").trim();
