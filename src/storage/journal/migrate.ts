/** Migrates a journal to the next version of its program: reads the journal with its own spec, and rewrites it in the same directory. */
import { mustBe, mustBeOneOf, ReplayError } from "../../base/error.ts";
import { GROUP_END } from "../../base/kinds.ts";
import type { FullLogger, Logger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import type { StateHead } from "../format/head.ts";
import type { Retain } from "../log/durability.ts";
import { endOf, Log } from "../log/log.ts";
import { Successor } from "../log/successor.ts";
import { type MigrationReport, resolveMigration, type StateMigration } from "../migration/options.ts";
import { StateMigrator } from "../migration/state-migrator.ts";

/** The behavior of `Replay.open` if the directory's spec or tables differ from the options. */
export type OnMismatch = "error" | "migrate";

export interface JournalMigration {
  readonly directory: Directory;
  /** The current manifest of the directory. */
  readonly existing: Omit<StateHead, "options"> & { readonly options: Omit<StateHead["options"], "maxBytes">; readonly retain: Retain };
  /** The new manifest. Default: the current manifest with the changes in `options`. */
  readonly about?: object;
  readonly options: StateMigration;
  readonly takeOver: boolean;
  readonly module: WebAssembly.Module | undefined;
  readonly logger: FullLogger;
  readonly warningLogger: Logger | null;
  /** The maximum number of bytes in a new journal with `retain: "all"`. Default: the number of bytes that a reader of its steps can address in one file. */
  readonly maxBytes?: number;
}

const MAX_RETAINED_BYTES = 2 ** 32 - 1;
const NO_BYTES = new Uint8Array(0);

/**
 * Rewrites the journal, and yields after each piece read. The old journal stays valid until the new one is completely on the disk. Needs memory for a section,
 * and about 1.2 KB per item of a changed table. The disk must have room for both journals. With `retain: "all"`, every record is rewritten, including steps
 * that are not in any item.
 * @throws ReplayError UNSUPPORTED if a directory with `retain: "all"` is too large · the errors of `migrateSnapshot`
 */
export async function* migrateJournal(migration: JournalMigration): AsyncGenerator<{ bytes: number; of: number }, MigrationReport> {
  const { directory, existing, about, options, takeOver, module, logger, warningLogger, maxBytes = MAX_RETAINED_BYTES } = migration;
  const isRetained = existing.retain === "all";
  const head = { ...existing, options: { ...existing.options, maxBytes: Number.MAX_SAFE_INTEGER } };
  const migrator = new StateMigrator(directory.name, head, resolveMigration(options), new SectionMemory(module), module);
  const log = Log.open(directory, { about: {}, durability: "manual", takeOver, logger: warningLogger, ...(module && { module }) });
  let successor: Successor | undefined;
  try {
    const { maxBytes: _, ...changed } = migrator.head.options;
    successor = new Successor(directory, endOf(log), about ?? { ...migrator.head, options: changed }, module);
    const next = successor;
    let group: number | undefined;
    for (const progress of log.replay((kind, id, payload, _, at) => {
      if (isRetained && group !== undefined && at.group !== group) for (const section of migrator.section(GROUP_END, 0, NO_BYTES)) next.write(section);
      group = at.group;
      for (const section of migrator.section(kind, id, payload)) next.write(section);
      if (isRetained && next.bytes > maxBytes) throw largeError(directory, maxBytes);
    }))
      yield progress;
    for (const section of migrator.finish()) next.write(section);
    await next.commit();
  } catch (error) {
    successor?.discard();
    throw error;
  } finally {
    log.leave();
  }
  const { steps, removed, newKeys } = migrator.report;
  const counts = Object.entries(removed).filter(([, count]) => count > 0);
  const left = counts.map(([name, count]) => `, ${count} items of ${JSON.stringify(name)} left`).join("");
  const keys = newKeys.length === 0 ? "" : `, and the items of ${newKeys.map((name) => JSON.stringify(name)).join(", ")} have new keys`;
  logger.info(`${directory.name} has ${steps} steps of the new spec${left}${keys}`);
  return migrator.report;
}

function largeError({ name }: Directory, maxBytes: number): ReplayError {
  return new ReplayError(
    "UNSUPPORTED",
    `${name} uses retain: "all", so a migration would write more than ${maxBytes} bytes to one file. Move its episodes to a new directory with openReplay and pushEpisodes`,
  );
}

/** Returns whether to migrate. @throws RangeError if an option is invalid or does not fit the others · TypeError if a migration lacks `spec` */
export function checkOnMismatch({
  onMismatch = "error",
  migrate,
  rename,
  spec,
  salvage,
}: {
  readonly onMismatch?: unknown;
  readonly migrate?: unknown;
  readonly rename?: unknown;
  readonly spec?: unknown;
  readonly salvage?: unknown;
}): boolean {
  if (onMismatch !== "error" && onMismatch !== "migrate") throw mustBeOneOf(RangeError, "onMismatch", ["error", "migrate"], onMismatch);
  const isMigrating = onMismatch === "migrate";
  for (const [name, value] of Object.entries({ migrate, rename }))
    if (value !== undefined && !isMigrating) throw mustBe(RangeError, "onMismatch", `"migrate" if ${name} is passed`, onMismatch);
  if (!isMigrating) return false;
  if (spec === undefined) throw mustBe(TypeError, "spec", 'given with onMismatch: "migrate": the spec of this version of the program', spec);
  if (salvage) throw mustBe(RangeError, "salvage", ['omitted with onMismatch: "migrate"', "Open the directory with salvage first, then migrate it"], salvage);
  return true;
}
