/** Provides the paths and contents of the real datasets in test/data. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../support/core.ts";

export function dataFolder(path: string): string {
  return join(root, "test/data", path);
}

export function fileBytes(path: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(path));
}

// biome-ignore lint/suspicious/noExplicitAny: the output of Python programs
export function json(path: string): any {
  return JSON.parse(readFileSync(dataFolder(path), "utf8"));
}
