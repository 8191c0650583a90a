/** Finds files of cases in folders, reads them, and passes them to the runner of their family. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { isObject } from "./case.ts";
import { runInFamily } from "./families.ts";
import type { Outcome } from "./outcome.ts";
import { runPfrlCase } from "./transitions/cases.ts";
import { runWireFile } from "./wire/cases.ts";

/** The outcomes of a file, or of a path that does not exist. */
export interface FileReport {
  /** The path as passed, or, if a folder was passed, the path of a file in it. */
  readonly path: string;
  readonly outcomes: readonly Outcome[];
}

/** Runs the files at the given paths. For a folder, runs every *.json in it and in its subfolders. */
export async function runPaths(paths: readonly string[]): Promise<FileReport[]> {
  const reports: FileReport[] = [];
  for (const path of paths) {
    if (!existsSync(path)) reports.push(broken(path, "no such file or folder"));
    else {
      const files = statSync(path).isDirectory() ? jsonBelow(path) : [path];
      if (files.length === 0) reports.push(broken(path, "no *.json in this folder"));
      for (const file of files) reports.push(await runFile(file));
    }
  }
  return reports;
}

async function runFile(path: string): Promise<FileReport> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    return broken(path, `malformed: ${(error as Error).message}`);
  }
  const other = otherFile(path, content);
  if (other !== undefined) return { path, outcomes: other };
  if (!Array.isArray(content) || content.length === 0) return broken(path, "malformed: a file of cases must be an array with at least one");
  const outcomes: Outcome[] = [];
  for (const [i, raw] of content.entries()) outcomes.push(await runCase(raw, i));
  return { path, outcomes };
}

/** Runs a case of any family. */
export async function runCase(raw: unknown, i = 0): Promise<Outcome> {
  const name = isObject(raw) && typeof raw.name === "string" ? raw.name : `case ${i}`;
  if (!isObject(raw)) return { name, state: "failed", why: `malformed: a case must be an object, got ${JSON.stringify(raw)}` };
  if (typeof raw.tier === "string") return runPfrlCase(raw);
  const outcome = await runInFamily(raw);
  if (outcome !== undefined) return outcome;
  return { name, state: "failed", why: `malformed: of no known family, its fields are ${Object.keys(raw).join(", ")}` };
}

/** Runs a file that contains a recording of another kind instead of an array of cases. Returns undefined for any other file. */
function otherFile(path: string, content: unknown): Outcome[] | undefined {
  if (!isObject(content)) return undefined;
  const skip = (names: readonly string[], what: string): Outcome[] => names.map((name) => ({ name, state: "skipped", why: `not built yet: ${what}` }));
  if (typeof content.environment === "string" && Array.isArray(content.cases)) {
    return skip(
      content.cases.map((_, i) => `case ${i}`),
      `runs of the environment ${content.environment}`,
    );
  }
  const recorded = readdirSync(dirname(path)).some((file) => file.endsWith(".bin") || file.endsWith(".tfrecord"));
  return recorded ? runWireFile(path, content) : undefined;
}

function jsonBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map((entry) => join(folder, relative(folder, join(entry.parentPath ?? entry.path, entry.name))))
    .sort();
}

function broken(path: string, why: string): FileReport {
  return { path, outcomes: [{ name: "", state: "failed", why }] };
}
