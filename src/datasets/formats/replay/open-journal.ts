/** A journal in memory, as it was at one moment, while its owner may go on. */
import { type OpenReplay, Replay } from "../../../replay/replay.ts";
import { type Directory, ready } from "../../../storage/index.ts";
import { readConsistently } from "../../../storage/log/file-sizes.ts";
import { ReadOnlyDirectory } from "../../../storage/log/read-only-directory.ts";
import type { Damage } from "../damage.ts";

// One class for the command line as well: it takes what this module has.
export { damageOf } from "../damage.ts";

export interface JournalReading {
  readonly signal?: AbortSignal | undefined;
  readonly module?: WebAssembly.Module | undefined;
  /** Of what stands behind damage, if that is no error. */
  readonly losses?: Damage | undefined;
}

export interface OpenedJournal {
  readonly replay: OpenReplay;
  /** As it was. Its files are open as long as the Replay is not disposed of. */
  readonly directory: Directory;
}

/**
 * The Replay of a journal on disk. Nothing there is changed or locked; draws change memory only.
 * @throws ReplayError CORRUPT · NOT_FOUND · SPEC_MISMATCH · UNSUPPORTED · IO · LOCKED where the owner makes and removes files all the time
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

/** @param dir whose files nobody changes */
export function openDirectory(dir: Directory, { signal, module, losses }: JournalReading): Promise<OpenReplay> {
  const damage = losses === undefined ? { logger: null } : { logger: losses.logger(dir.name), salvage: true };
  return Replay.open({ dir, durability: "manual", ...damage, ...(signal && { signal }), ...(module && { module }) });
}
