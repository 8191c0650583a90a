/** Opens the state of a journal at one moment in memory. Its owner may continue to write. */
import { type OpenReplay, Replay } from "../../../replay/replay.ts";
import { type Directory, ready } from "../../../storage/index.ts";
import { readConsistently } from "../../../storage/log/file-sizes.ts";
import { ReadOnlyDirectory } from "../../../storage/log/read-only-directory.ts";
import type { Damage } from "../damage.ts";

// Exported from here because the command line must use the same class as this module.
export { damageOf } from "../damage.ts";

export interface JournalReading {
  readonly signal?: AbortSignal | undefined;
  readonly module?: WebAssembly.Module | undefined;
  /** Receives the parts that damage makes unreadable. Undefined if they are errors. */
  readonly losses?: Damage | undefined;
}

export interface OpenedJournal {
  readonly replay: OpenReplay;
  /** The directory at that moment. Its files are open until the Replay is disposed of. */
  readonly directory: Directory;
}

/**
 * Opens the journal on disk as a Replay. Nothing on disk is changed or locked. Draws change only memory.
 * @throws ReplayError CORRUPT · NOT_FOUND · SPEC_MISMATCH · UNSUPPORTED · IO · LOCKED if the owner constantly creates and removes files
 */
export async function openJournal(of: string | Directory, options: JournalReading): Promise<OpenedJournal> {
  await ready;
  let directory: ReadOnlyDirectory | undefined;
  const { name } = typeof of === "string" ? { name: of } : of;
  try {
    return await readConsistently(
      name,
      async () => {
        const moment = new ReadOnlyDirectory(of, { previous: directory });
        directory = moment;
        moment.keepsOpen = true;
        const replay = await openDirectory(moment, options);
        moment.keepsOpen = false;
        return { replay, directory: moment };
      },
      options.signal,
    );
  } catch (error) {
    directory?.close();
    throw error;
  }
}

/** Opens the journal in a directory as a Replay. @param dir a directory whose files do not change */
export function openDirectory(dir: Directory, { signal, module, losses }: JournalReading): Promise<OpenReplay> {
  const damage = losses === undefined ? { logger: null } : { logger: losses.logger(dir.name), salvage: true };
  return Replay.open({ dir, durability: "manual", ...damage, ...(signal && { signal }), ...(module && { module }) });
}
