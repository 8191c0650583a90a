/** Writes and reads logs for tests. */
import { type Directory, Log, type LogOptions, type MemoryDirectory, memory } from "../../src/storage/index.ts";
import { TestRandom } from "./random.ts";

/** Options with which a log writes only in `flush`, or when many bytes are pending. */
export const MANUAL = { about: { of: "a test" }, durability: "manual" } as const;

/** Returns every section of a log. */
export function shown(log: Log): string[] {
  const seen: string[] = [];
  for (const _ of log.replay((kind, id, payload) => seen.push(`${kind} ${id} ${Buffer.from(payload).toString("latin1")}`)));
  return seen;
}

/** Opens a log, reads its sections, and closes it. */
export function reopened(directory: Directory, options: Partial<LogOptions> = {}): string[] {
  const log = Log.open(directory, { ...MANUAL, ...options });
  try {
    return shown(log);
  } finally {
    log.close();
  }
}

/** Writes a group of one to three sections, each with a distinct number. */
export function writeGroup(log: Log, group: number, random: TestRandom, max = 200): string[] {
  return Array.from({ length: 1 + random.below(3) }, (_, i) => {
    const payload = Buffer.from(`${group}/${i}:`.padEnd(random.below(max), String.fromCharCode(97 + (group % 26))), "latin1");
    log.write(32 + i, group, payload);
    return `${32 + i} ${group} ${payload.toString("latin1")}`;
  });
}

export interface Written {
  readonly directory: MemoryDirectory;
  /** The sections of each group. */
  readonly groups: readonly string[][];
}

/** Returns a log of about `bytes` bytes, flushed and closed. */
export function writtenLog(bytes: number, options: Partial<LogOptions> = {}, seed = 1, max = 200): Written {
  const directory = memory();
  const random = new TestRandom(seed);
  const log = Log.open(directory, { ...MANUAL, ...options });
  const groups: string[][] = [];
  for (let size = 0; size < bytes; size = log.segments.reduce((sum, one) => sum + one.bytes, 0)) {
    groups.push(writeGroup(log, groups.length, random, max));
    log.commit();
  }
  log.close();
  return { directory, groups };
}

/** Returns the number of whole groups, or -1 if they are not the first groups. */
export function groupsOf(seen: readonly string[], groups: readonly string[][]): number {
  let at = 0;
  let count = 0;
  for (; count < groups.length && at < seen.length; count++) {
    const group = groups[count] as string[];
    if (group.some((section, i) => seen[at + i] !== section)) return -1;
    at += group.length;
  }
  return at === seen.length ? count : -1;
}
