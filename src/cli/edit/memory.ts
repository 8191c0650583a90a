/** `reprise edit` for a snapshot or a journal: changes the steps or tables and keeps the format. */
import { closeSync, copyFileSync, existsSync, linkSync, mkdirSync, openSync, readdirSync, readSync, realpathSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, join } from "node:path";
import { RldsError } from "../../datasets/rlds/index.ts";
import type { StateHead } from "../../storage/format/head.ts";
import { segmentOf } from "../../storage/log/segment-head.ts";
import type { MigrationReport } from "../../storage/migration/options.ts";
import { Interrupted, UsageError } from "../exit.ts";
import { isJournal } from "../journal.ts";
import {
  aboutIn,
  checkHead,
  decodeTagged,
  isUrl,
  MAGIC,
  migrateJournal,
  migrateSnapshot,
  node,
  peekLog,
  SectionMemory,
  SectionParser,
} from "../program-parts.ts";
import type { Host, Result } from "../result.ts";
import { countText } from "../text.ts";
import { changesOf } from "./memory-changes.ts";
import type { EditOptions } from "./options.ts";
import { Replacement } from "./replacement.ts";

export type MemoryKind = "snapshot" | "journal";

const OWN = ["add", "maxSize", "maxTimesSampled", "sampler", "remover", "rateLimiter"] as const;
const ALLOWED: readonly string[] = [...OWN, "rename", "without", "only", "cast", "overwrite", "json"];
const CHUNK_BYTES = 1 << 20;

/** Returns the kind of the path, or undefined if the path is neither a snapshot nor a journal. */
export function memoryKind(path: string): MemoryKind | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return isJournal(path) && !readdirSync(path).includes("features.json") ? "journal" : undefined;
  if (!stat?.isFile() || segmentOf(basename(path)) > 0) return undefined;
  const head = new Uint8Array(MAGIC.length);
  const file = openSync(path, "r");
  try {
    readSync(file, head, 0, head.length, 0);
  } finally {
    closeSync(file);
  }
  return new TextDecoder("latin1").decode(head) === MAGIC ? "snapshot" : undefined;
}

/**
 * Checks that no option is set that works only with a snapshot or journal.
 * @throws RldsError NOT_FOUND if such an option is set and the path does not exist, because the user may have mistyped the path of a snapshot or journal
 * @throws UsageError if such an option is set and the path exists
 */
export function checkNoMemoryOptions(from: string, options: EditOptions): void {
  const name = OWN.find((key) => options[key] !== undefined);
  if (name !== undefined && !isUrl(from) && !existsSync(from)) throw new RldsError("NOT_FOUND", "there is no such file or folder", { file: from });
  if (name !== undefined) throw new UsageError(`${flagOf(name)} works only if IN and OUT are snapshots or journals. Remove ${flagOf(name)}`);
}

export async function editMemory(kind: MemoryKind, from: string, to: string, options: EditOptions, host: Host): Promise<Result> {
  for (const [key, value] of Object.entries(options)) {
    if (ALLOWED.includes(key) || value === undefined || value === false || (key === "mode" && value === "strict")) continue;
    throw new UsageError(`${flagOf(key)} works only with datasets, but ${from} is a ${kind}. Remove it, or pass --format with a dataset format`);
  }
  const isInPlace = existsSync(to) && realpathSync(from) === realpathSync(to);
  if (existsSync(to) && memoryKind(to) !== kind) throw new UsageError(`${to} exists, and is not a ${kind}. Pass another OUT`);
  if (existsSync(to) && !options.overwrite)
    throw new UsageError(
      isInPlace
        ? `IN and OUT are both ${to}. Pass --overwrite to replace it once the new ${kind} is complete, or pass another OUT`
        : `${to} exists. Pass --overwrite, or pass another OUT`,
    );
  const progress = host.progress("editing");
  try {
    const report = await (kind === "snapshot"
      ? editSnapshot(from, to, options, host)
      : editJournal(from, to, isInPlace, options, host, (done, of) => progress.at(done, of)));
    return resultOf(to, kind, report);
  } catch (error) {
    if (host.signal.aborted) throw new Interrupted(`${to} was not written`);
    throw error;
  } finally {
    progress.end();
  }
}

async function editSnapshot(from: string, to: string, options: EditOptions, host: Host): Promise<MigrationReport> {
  const changes = changesOf(optionsIn(from), options);
  const replacement = await Replacement.begin(to, [basename(to)]);
  try {
    const path = join(replacement.to, basename(to));
    // The path may be a hard link to the replaced file, which must not be overwritten.
    rmSync(path, { force: true });
    const chunks = migrateSnapshot(chunksOf(from), changes);
    const file = await open(path, "wx");
    try {
      for (const chunk of chunks) {
        host.signal.throwIfAborted();
        await file.writeFile(chunk);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await replacement.commit();
    return chunks.report;
  } catch (error) {
    await replacement.discard();
    throw error;
  }
}

async function editJournal(
  from: string,
  to: string,
  isInPlace: boolean,
  options: EditOptions,
  host: Host,
  onProgress: (done: number, of: number) => void,
): Promise<MigrationReport> {
  // The migration itself replaces a journal as a whole. Until the new journal is complete, the folder contains the old journal.
  if (isInPlace) return migrateFolder(from, options, host, onProgress);
  const locks = [from, to].filter((path) => existsSync(path)).map((path) => node(path).lock(() => {}));
  let replacement: Replacement | undefined;
  try {
    replacement = await Replacement.begin(to, [basename(to)]);
    const folder = join(replacement.to, basename(to));
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    // The migration only reads existing segments, so links to them are sufficient.
    for (const name of readdirSync(from)) if (segmentOf(name) > 0) linkOrCopy(join(from, name), join(folder, name));
    const report = await migrateFolder(folder, options, host, onProgress);
    for (const name of readdirSync(folder)) if (segmentOf(name) === 0) rmSync(join(folder, name), { recursive: true, force: true });
    await replacement.commit();
    return report;
  } catch (error) {
    await replacement?.discard();
    throw error;
  } finally {
    for (const release of locks) release();
  }
}

async function migrateFolder(folder: string, options: EditOptions, host: Host, onProgress: (done: number, of: number) => void): Promise<MigrationReport> {
  const directory = node(folder);
  const log = peekLog(directory, { salvage: false, takeOver: false });
  if (log === undefined) throw new UsageError(`${folder} contains no intact journal`);
  const existing = aboutIn(directory, log);
  const logger = { warn: () => {}, info: () => {} };
  const changes = changesOf(existing.options, options);
  const migration = migrateJournal({ directory, existing, options: changes, takeOver: false, module: undefined, logger, warningLogger: null });
  for (;;) {
    const step = await migration.next();
    if (step.done) return step.value;
    onProgress(step.value.bytes, step.value.of);
    if (host.signal.aborted) await migration.throw(host.signal.reason);
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

function* chunksOf(path: string): Generator<Uint8Array, void> {
  const file = openSync(path, "r");
  try {
    for (;;) {
      const chunk = new Uint8Array(CHUNK_BYTES);
      const count = readSync(file, chunk, 0, CHUNK_BYTES, null);
      if (count === 0) return;
      yield chunk.subarray(0, count);
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Returns the options in the head of a snapshot.
 * @throws ReplayError CORRUPT if the snapshot has no intact head
 * @throws ReplayError UNSUPPORTED if another version of Reprise wrote the snapshot
 */
function optionsIn(path: string): StateHead["options"] {
  const parser = new SectionParser(new SectionMemory());
  for (const chunk of chunksOf(path)) {
    parser.reserve(chunk.length).set(chunk);
    parser.advance(chunk.length);
    if (parser.end === 0 && parser.readMagic() === undefined) continue;
    if (parser.next()) return checkHead("the snapshot", decodeTagged(parser.payload)).options;
    if (parser.fault !== undefined) break;
  }
  return checkHead(path, undefined).options;
}

function resultOf(to: string, kind: MemoryKind, report: MigrationReport): Result {
  const left = Object.entries(report.removed).filter(([, count]) => count > 0);
  const lines = left.map(([name, count]) => `  ${name}: ${countText(count, "item")} removed for lack of room\n`).join("");
  const keys = report.newKeys.map((name) => `  ${name}: its items have new keys, because the old ones do not fit its size\n`).join("");
  return { value: { path: to, kind, ...report }, text: `${to} (${kind}): ${countText(report.steps, "step")}\n${lines}${keys}` };
}

function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
