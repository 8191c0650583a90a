/** Saves a buffer to a file, and loads a buffer from a file. */
import { codeOf, mustBe, ReplayError } from "../../base/error.ts";
import { ioError, withIoErrors } from "../../files/io-errors.ts";
import { type Directory, Log } from "../../storage/index.ts";
import { deliver } from "../store/history.ts";
import type { Progress } from "./incremental.ts";
import type { Content, StoreLoader } from "./loader.ts";
import { type SaveTarget, SingleFile, targetOf } from "./single-file.ts";

/** The metadata that marks files and directories as written by reprise/pfrl. */
export const ABOUT = { reprise: "pfrl", version: 2 };

/** The names of the files that this process is saving to, by the path of their folder, or by the directory object if it has no path. */
const busy = new Map<string | Directory, Set<string>>();

/** The build of the core that the buffer uses; undefined for the core of the package. */
type Module = WebAssembly.Module | undefined;

/**
 * Writes a history to a temporary file. When that file is on the disk, it replaces the existing file. If the existing file is a link, only the link is
 * replaced.
 */
export function* saveFile(target: SaveTarget, content: Content, module: Module): Generator<Progress, void> {
  const { directory, file } = targetOf(target);
  const location = directory.path ?? directory;
  const files = busy.get(location) ?? new Set();
  if (files.has(file)) throw new ReplayError("OUT_OF_TURN", `${directory.name}/${file} is already being saved to. Wait for that save, or save to another file`);
  busy.set(location, files.add(file));
  try {
    yield* writeFile(directory, file, content, module);
  } finally {
    files.delete(file);
    if (files.size === 0) busy.delete(location);
  }
}

function* writeFile(directory: Directory, file: string, content: Content, module: Module): Generator<Progress, void> {
  withIoErrors("listing", directory, "", () => checkFolder(directory, file));
  refuseOthers(directory, file);
  const part = new SingleFile(directory, `${file}.part`);
  const targetFile = new SingleFile(directory, file);
  clear(part);
  // The log has one segment and an empty run name, so that the same buffer always produces the same file.
  const log = Log.open(part, { about: ABOUT, durability: "manual", segmentBytes: 2 ** 31, run: "", module });
  let done = false;
  try {
    yield* content.write((kind, id, payload) => log.write(kind, id, payload));
    log.commit();
    log.flush();
    log.close();
    done = true;
  } finally {
    if (!done) {
      close(log);
      clear(part);
    }
  }
  if (directory.rename === undefined) {
    yield* copying(part, targetFile);
    return;
  }
  try {
    withIoErrors("naming", directory, file, () => directory.rename?.(`${file}.part`, file));
  } catch (error) {
    // Otherwise a later load would mistake a complete temporary file for the last save.
    clear(part);
    throw error;
  }
}

/** Checks that a folder exists. @throws ReplayError IO if the folder does not exist · other errors of listing it */
function checkFolder(directory: Directory, file: string): void {
  try {
    directory.list();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    throw ioError(`saving to ${directory.name}/${file} failed: the directory ${directory.name} does not exist (ENOENT). Create it first`, error);
  }
}

/** Checks that a save would replace only a file. @throws ReplayError IO if the name belongs to a folder, a pipe or a device, which a save would replace */
function refuseOthers(directory: Directory, file: string): void {
  withIoErrors("opening", directory, file, () => {
    try {
      directory.open(file, false).close();
    } catch (error) {
      // The file may not exist yet. Any other error that matters recurs when the caller uses the file.
      if (["EISDIR", "ESPIPE"].includes(codeOf(error) as string)) throw error;
    }
  });
}

/** Loads a history from a file. The history then replaces the buffer's contents. */
export function* loading(target: SaveTarget, content: Content, module: Module): Generator<Progress, void> {
  const { directory, file } = targetOf(target);
  refuseOthers(directory, file);
  // A complete temporary file that has not been renamed is the last save.
  const part = new SingleFile(directory, `${file}.part`);
  const from = isWhole(part, module) ? part : new SingleFile(directory, file);
  if (!exists(from)) throw mustBe("NOT_FOUND", "file", "a file written by save", from.name);
  yield* readLog(from, content.loader(), module);
}

/** Passes all sections of a log to a loader. The loader then replaces the buffer's contents. */
function* readLog(from: Directory, loader: StoreLoader, module: Module): Generator<Progress, void> {
  let done = false;
  const log = Log.open(from, { about: ABOUT, readOnly: true, module });
  try {
    checkAbout(from, log.about);
    for (const { bytes, of } of log.replay((kind, id, payload) => deliver(loader, kind, id, payload))) yield { done: bytes, of };
    loader.finish();
    done = true;
  } finally {
    log.close();
    if (!done) loader.cancel();
  }
}

/** Checks the metadata of a log. @throws ReplayError INVALID_DATA if reprise/pfrl did not write the log · UNSUPPORTED if its format has another version */
export function checkAbout(from: Directory, about: object): void {
  const { reprise, version } = about as Partial<typeof ABOUT>;
  if (reprise !== ABOUT.reprise) throw new ReplayError("INVALID_DATA", `${from.name} is not a file of reprise/pfrl`);
  if (version !== ABOUT.version)
    throw new ReplayError("UNSUPPORTED", `${from.name} has format version ${version}, but this version of Reprise reads ${ABOUT.version}`);
}

function exists(file: SingleFile): boolean {
  try {
    return file.list().length > 0;
  } catch {
    return false;
  }
}

function isWhole(file: SingleFile, module: Module): boolean {
  if (!exists(file)) return false;
  let sections = 0;
  try {
    const log = Log.open(file, { about: ABOUT, readOnly: true, module });
    for (const _ of log.replay(() => sections++));
    log.close();
  } catch {
    return false;
  }
  return sections > 0;
}

function clear(file: SingleFile): void {
  if (exists(file)) file.clear();
}

/** Closes a log. Ignores errors, because the caller throws an earlier error. */
function close(log: Log): void {
  try {
    log.close();
  } catch {}
}

/** Copies the file, for directories that cannot rename files. */
function* copying(part: SingleFile, targetFile: SingleFile): Generator<Progress, void> {
  clear(targetFile);
  for (const name of part.list()) {
    const from = part.open(name, false);
    const to = targetFile.open(name, true);
    const chunk = new Uint8Array(1 << 20);
    for (let at = 0, read = from.read(chunk, 0); read > 0; read = from.read(chunk, at)) {
      for (let done = 0; done < read; ) done += to.write(chunk.subarray(done, read), at + done);
      at += read;
      yield { done: at, of: from.size };
    }
    to.sync();
    to.close();
    from.close();
  }
  part.clear();
}
