/** Journals on the disk: which folders are one, and a look at one that changes nothing. */
import { readdirSync, statSync } from "node:fs";
import { Replay, ReplayError, type Table } from "../index.ts";
import { type OpenReplay, ready } from "../store/index.ts";
import { ReadOnlyDirectory } from "./read-only-directory.ts";

const SEGMENT = /^\d{8}\.rpr$/;

/** Whether there are segments of a journal in it. */
export function isJournal(path: string): boolean {
  return filesIn(path).some((name) => SEGMENT.test(name));
}

/** Whether a folder has files of another kind in it: a journal should not be among them. */
export function hasOtherFiles(path: string): boolean {
  return filesIn(path).some((name) => !name.startsWith("lock.") && !SEGMENT.test(name));
}

function filesIn(path: string): string[] {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(path) : [];
}

/** The Replay as it is on the disk; draws from it change nothing there, and another process may go on writing. @throws ReplayError NOT_FOUND, CORRUPT */
export async function lookInto(path: string, signal: AbortSignal): Promise<OpenReplay> {
  if (!isJournal(path)) throw new ReplayError("NOT_FOUND", `${path} is no journal: no folder with a Replay in it, as reprise push and Replay.open make them`);
  await ready;
  return Replay.open({ dir: new ReadOnlyDirectory(path), durability: "manual", signal });
}

/** @throws ReplayError NOT_FOUND that lists what is there */
export function tableOf(replay: Replay, name: string): Table {
  const { tables } = replay;
  return tables.find((table) => table.name === name) ?? missing(name, replay);
}

function missing(name: string, { tables }: Replay): never {
  throw new ReplayError(
    "NOT_FOUND",
    `there is no table ${JSON.stringify(name)} in the journal; it has ${tables.map((table) => table.name).join(", ") || "none"}`,
  );
}
