/** Opens the Replay of a journal or snapshot, without changing the source. */
import { ReplayError } from "../../../base/error.ts";
import type { Fetch } from "../../../base/host.ts";
import { Replay } from "../../../replay/replay.ts";
import type { TransitionRoles } from "../../../schema/transition-roles.ts";
import { ready } from "../../../storage/index.ts";
import { readConsistently, readSizes } from "../../../storage/log/file-sizes.ts";
import { segmentOf } from "../../../storage/log/segment-head.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { type Damage, withSalvageRemedy } from "../damage.ts";
import type { ReadOptions } from "../reader.ts";
import { isDirectory } from "../sources/directory-source.ts";
import { pathOf, type Source } from "../sources/open-source.ts";
import type { SourceFile, SourceFolder } from "../sources/source.ts";
import { FileCopies } from "./file-copies.ts";
import { JournalHistory } from "./history.ts";
import { type OpenedJournal, openDirectory, openJournal } from "./open-journal.ts";

export interface ReplayOpenOptions extends ReadOptions {
  /**
   * Maps the roles of RLDS (observation, action, reward, discount, terminated) to leaves. Default: the map of the Replay, otherwise the leaves with the names
   * of the roles.
   */
  readonly transition?: TransitionRoles;
  /** Another build of the core, for hosts that forbid compiling. Default: the core of the package. */
  readonly module?: WebAssembly.Module;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

export interface StoredReplay {
  readonly format: "journal" | "snapshot";
  readonly name: string;
  readonly replay: Replay;
  /** Every step of a journal with `retain: "all"`. Its files are open until the Replay is disposed of. */
  readonly history?: JournalHistory | undefined;
}

export interface StoredOptions extends ReplayOpenOptions {
  readonly maxBytes: number;
  /** Receives the parts of a journal that damage makes unreadable. Undefined if they are errors. */
  readonly losses?: Damage | undefined;
}

const BLOCK = 1 << 20;

/** Opens the journal or snapshot in a source. @throws RldsError if the source cannot be read */
export async function storedReplay(from: Source, options: StoredOptions): Promise<StoredReplay> {
  const { signal, fetch, maxBytes } = options;
  const { file, folder } = await decompressedSource(from, { signal, fetch, maxBytes });
  const name = file?.name ?? (folder as SourceFolder).name;
  try {
    if (file !== undefined) return { format: "snapshot", name, replay: await ofSnapshot(file, options) };
    return { format: "journal", name, ...(await ofJournal(from, folder, options)) };
  } catch (error) {
    if (!(error instanceof ReplayError) || error instanceof RldsError) throw error;
    const stated = new RldsError(error.code, error.message, { file: name }, { cause: error });
    // A snapshot cannot be read in part.
    throw file === undefined && options.losses === undefined ? withSalvageRemedy(stated) : stated;
  } finally {
    await file?.close();
  }
}

function ofSnapshot(file: SourceFile, { signal, module }: StoredOptions): Promise<Replay> {
  if (segmentOf(file.name) > 0) throw unsupportedFile({ file: file.name }, "a journal is a folder, got one of its files. Pass the folder");
  return Replay.restore(chunksOf(file, signal), { logger: null, ...(module && { module }) });
}

async function* chunksOf(file: SourceFile, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < file.size; at += BLOCK) {
    signal?.throwIfAborted();
    yield await file.read(at, Math.min(BLOCK, file.size - at));
  }
}

async function ofJournal(from: Source, folder: SourceFolder, options: StoredOptions): Promise<Pick<StoredReplay, "replay" | "history">> {
  const below = await readConsistently(folder.name, () => folderOf(folder), options.signal);
  const { replay, directory } = await openLog(from, folder, below, options);
  try {
    return { replay, history: await JournalHistory.of(directory, replay, options.signal) };
  } catch (error) {
    replay.dispose();
    throw error;
  }
}

/** Opens a journal. Reads folders of the file system and directories of reprise/storage in place. Copies any other source. */
function openLog(from: Source, folder: SourceFolder, below: string, options: StoredOptions): Promise<OpenedJournal> {
  if (isDirectory(from) && below === "") return openJournal(from, options);
  const path = pathOf(from);
  return path === undefined ? openCopy(folder, below, options) : openJournal(below === "" ? path : `${path}/${below}`, options);
}

/** Opens a copy of a source that cannot be read in place. */
async function openCopy(folder: SourceFolder, below: string, options: StoredOptions): Promise<OpenedJournal> {
  await ready;
  const files = new FileCopies(folder, below, options.maxBytes);
  return readConsistently(
    folder.name,
    async () => {
      const directory = files.at(await readSizes(files, options.signal));
      return { replay: await openDirectory(directory, options), directory };
    },
    options.signal,
  );
}

/** Returns the path of the subfolder that contains the segments, or "" for the folder itself. */
async function folderOf(folder: SourceFolder): Promise<string> {
  const paths = await folder.list();
  if (paths === undefined)
    throw unsupportedFile({ file: folder.name }, "the folder cannot be listed, so the files of the journal are unknown. Pass a folder that can be listed");
  const names = paths.map((path) => [path.slice(0, path.lastIndexOf("/") + 1), path.slice(path.lastIndexOf("/") + 1)] as const);
  const below = new Set(names.filter(([, name]) => segmentOf(name) > 0).map(([prefix]) => prefix.slice(0, -1)));
  const [first, second] = below;
  if (first === undefined) throw new RldsError("NOT_FOUND", "the folder has no journal: the file 00000001.rpr is missing", { file: folder.name });
  if (second !== undefined)
    throw unsupportedFile({ file: folder.name }, `the folder has ${below.size} journals (${[...below].slice(0, 3).join(", ")}). Open one of them`);
  return first;
}
