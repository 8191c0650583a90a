/** Finds and opens journals and snapshots on disk without changing them. Also removes a new journal after a failed push. */
import { createReadStream, existsSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { didYouMean } from "../base/error.ts";
import type { Damage } from "../datasets/formats/damage.ts";
import { openJournal } from "../datasets/formats/replay/open-journal.ts";
import { type OpenReplay, Replay, ReplayError, type Table } from "../index.ts";
import { segmentOf } from "../storage/log/segment-head.ts";

/** Returns whether the path is a folder that contains segments of a journal. */
export function isJournal(path: string): boolean {
  return filesIn(path).some((name) => segmentOf(name) > 0);
}

/** Returns whether the path is a folder with files that do not belong to a journal. A journal needs a folder of its own. */
export function hasOtherFiles(path: string): boolean {
  return filesIn(path).some((name) => !name.startsWith("lock.") && segmentOf(name) === 0);
}

/** Removes the segments and locks of a journal, and its folder if the folder is then empty. */
export function removeJournal(path: string): void {
  for (const name of filesIn(path)) if (name.startsWith("lock.") || segmentOf(name) > 0) rmSync(join(path, name));
  if (existsSync(path) && filesIn(path).length === 0) rmdirSync(path);
}

function filesIn(path: string): string[] {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(path) : [];
}

/**
 * Opens the Replay of a journal for reading. Draws do not change the files, and another process may continue to write to the journal.
 * @param losses receives the parts that damage makes unreadable. If it is undefined, damage throws
 * @throws ReplayError NOT_FOUND if the path is not a journal
 * @throws ReplayError CORRUPT if the journal is damaged and `losses` is undefined
 * @throws ReplayError UNSUPPORTED if another version of Reprise wrote the journal
 * @throws ReplayError LOCKED if the owner of the journal constantly creates and removes files
 * @throws ReplayError IO if a file cannot be read
 */
export async function openReadOnly(path: string, signal: AbortSignal, losses?: Damage): Promise<OpenReplay> {
  if (!isJournal(path)) throw new ReplayError("NOT_FOUND", `${path} is not a journal. Create one with reprise push or Replay.open`);
  return (await openJournal(path, { signal, losses })).replay;
}

/**
 * Returns the Replay of a snapshot.
 * @throws ReplayError CORRUPT if bytes are missing or altered
 * @throws ReplayError UNSUPPORTED if another version of Reprise wrote the snapshot
 */
export function restoreFile(path: string, signal: AbortSignal): Promise<Replay> {
  return Replay.restore(createReadStream(path, { signal }), { logger: null });
}

/** The name of the writer with which `reprise push` adds items to a journal. */
export const PUSHING = "reprise push";

/** Closes the writer of a push that was killed, so that the steps of its last episode become items. */
export function closeKilled(replay: Replay): void {
  for (const writer of replay.writers) if (writer.options.name === PUSHING) writer.close();
}

/**
 * Returns the table with a name.
 * @throws ReplayError NOT_FOUND if the table does not exist. The message lists the existing tables
 */
export function tableOf(replay: Replay, name: string): Table {
  return (Object.hasOwn(replay.tables, name) ? replay.tables[name] : undefined) ?? throwNotFound(name, replay);
}

function throwNotFound(name: string, { tables }: Replay): never {
  const names = Object.keys(tables);
  throw new ReplayError("NOT_FOUND", `the journal has no table ${JSON.stringify(name)}.${didYouMean(name, names)} Tables: ${names.join(", ") || "none"}`);
}
