/** A journal for the next version of its program: read with its own spec, and written anew in the same directory. */
import { mustBe, ReplayError } from "../../base/error.ts";
import type { FullLogger, Logger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import { SectionMemory } from "../../memory/section-memory.ts";
import type { StateHead } from "../format/head.ts";
import type { Retain } from "../log/durability.ts";
import { endOf, Log } from "../log/log.ts";
import { Successor } from "../log/successor.ts";
import { type MigrationReport, resolveMigration, type StateMigration } from "../migration/options.ts";
import { StateMigrator } from "../migration/state-migrator.ts";

/** What `Replay.open` does if the directory holds another spec or other tables than its options say. */
export type OnMismatch = "error" | "migrate";

export interface JournalMigration {
  readonly directory: Directory;
  /** What the directory says of itself. */
  readonly existing: Omit<StateHead, "options"> & { readonly options: Omit<StateHead["options"], "maxBytes">; readonly retain: Retain };
  /** What it is to say. Default: the same with what `options` change. */
  readonly about?: object;
  readonly options: StateMigration;
  readonly takeOver: boolean;
  readonly module: WebAssembly.Module | undefined;
  readonly logger: FullLogger;
  readonly warningLogger: Logger | null;
}

/**
 * Writes the journal anew, and yields after each piece that was read. Until the new one is whole on the disk, the old one is what the directory holds. Memory: a section, and about 1.2 KB
 * per item of a table that changes. Disk: both at the same time.
 * @throws ReplayError UNSUPPORTED for a directory with `retain: "all"`; as `migrateSnapshot`
 */
export async function* migrateJournal(migration: JournalMigration): AsyncGenerator<{ bytes: number; of: number }, MigrationReport> {
  const { directory, existing, about, options, takeOver, module, logger, warningLogger } = migration;
  if (existing.retain === "all")
    throw new ReplayError(
      "UNSUPPORTED",
      `${directory.name} has retain: "all", and onMismatch: "migrate" would lose the episodes that no item holds. Move the episodes to a new directory (openReplay, pushEpisodes)`,
    );
  const head = { ...existing, options: { ...existing.options, maxBytes: Number.MAX_SAFE_INTEGER } };
  const migrator = new StateMigrator(directory.name, head, resolveMigration(options), new SectionMemory(module), module);
  const log = Log.open(directory, { about: {}, durability: "manual", takeOver, logger: warningLogger, ...(module && { module }) });
  let successor: Successor | undefined;
  try {
    const { maxBytes: _, ...changed } = migrator.head.options;
    successor = new Successor(directory, endOf(log), about ?? { ...migrator.head, options: changed }, module);
    const next = successor;
    for (const progress of log.replay((kind, id, payload) => {
      for (const section of migrator.section(kind, id, payload)) next.write(section);
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

/** @throws RangeError for options that make no sense together */
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
  if (onMismatch !== "error" && onMismatch !== "migrate") throw mustBe(RangeError, "onMismatch", 'one of "error", "migrate"', onMismatch);
  const isMigrating = onMismatch === "migrate";
  for (const [name, value] of Object.entries({ migrate, rename }))
    if (value !== undefined && !isMigrating) throw mustBe(RangeError, "onMismatch", `"migrate" if ${name} is passed`, onMismatch);
  if (!isMigrating) return false;
  if (spec === undefined) throw mustBe(TypeError, "spec", 'given with onMismatch: "migrate": the spec of this version of the program', spec);
  if (salvage) throw mustBe(RangeError, "salvage", 'left out with onMismatch: "migrate": open the directory once with salvage first', salvage);
  return true;
}
