/** Replaces a file or folder as a whole. The replacement is written next to the target and moved into place when it is complete. */
import { copyFile, link, lstat, mkdir, open, readdir, readlink, realpath, rename, rm, rmdir, symlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { attempt, lockFile } from "../program-parts.ts";

/** The prefix that all writers use for the names of incomplete files. Readers ignore such files. */
const PREFIX = ".incomplete-";
/** The names of the new and the old target in the temporary folder of an edit. */
const NEW = "new";
const OLD = "old";

interface Places {
  /** The temporary folder to which writers write. */
  readonly to: string;
  /** The folder that the user named, which `to` represents during the edit. */
  readonly place: string;
  /** The path of the new target in `to`. */
  readonly staged: string;
  /** The temporary folder of this edit. */
  readonly folder: string;
  readonly release: () => Promise<void>;
}

export class Replacement {
  /** The folder to which writers write, instead of the folder that the user named. */
  readonly to: string;
  readonly #place: string;
  readonly #target: string;
  readonly #staged: string;
  readonly #folder: string;
  readonly #release: () => Promise<void>;

  /**
   * Starts a replacement. If the target exists, links to its files are created at its path in `to`, so that writers that add to the target find and keep its
   * files.
   * @param target the file or folder to replace
   * @param below the names that lead from `to` to the target, or an empty list for `to` itself
   * @throws RldsError IO if another edit of the target is running, if the target is a pipe or a device, or if nothing can be written
   */
  static async begin(target: string, below: readonly string[]): Promise<Replacement> {
    const path = await realpath(target).catch(() => resolve(target));
    const folder = folderOf(path);
    return attempt(path, async () => {
      const stat = await lstat(path).catch(() => undefined);
      if (stat && !stat.isFile() && !stat.isDirectory()) throw new Error("the path is a pipe or a device, which would be replaced. Write to another path");
      const release = await locked(path);
      try {
        await restore(path);
        await rm(folder, { recursive: true, force: true });
        const to = join(folder, NEW);
        const staged = join(to, ...below);
        await mkdir(dirname(staged), { recursive: true });
        if (await exists(path)) await copyLinks(path, staged);
        return new Replacement(path, { to, place: resolve(path, ...below.map(() => "..")), staged, folder, release });
      } catch (error) {
        await rm(folder, { recursive: true, force: true });
        await release();
        throw error;
      }
    });
  }

  private constructor(target: string, { to, place, staged, folder, release }: Places) {
    this.#target = target;
    this.#place = place;
    this.to = to;
    this.#staged = staged;
    this.#folder = folder;
    this.#release = release;
  }

  /**
   * Moves the new target into place. A file is replaced in one system call. An old folder is moved aside, and is removed after the new folder is in place.
   * @throws RldsError IO if the target cannot be replaced
   */
  commit(): Promise<void> {
    return attempt(this.#target, async () => {
      const stat = await lstat(this.#target).catch(() => undefined);
      if (stat?.isDirectory()) {
        const old = join(this.#folder, OLD);
        await rename(this.#target, old);
        try {
          await rename(this.#staged, this.#target);
        } catch (error) {
          await rename(old, this.#target);
          throw error;
        }
      } else await rename(this.#staged, this.#target);
      await sync(dirname(this.#target));
      await this.#end();
    });
  }

  /** Removes the written files and releases the lock. Never throws, because it follows a failure. */
  async discard(): Promise<void> {
    await this.#end().catch(() => {});
  }

  /** Returns a text with temporary paths replaced by the final paths. */
  named(text: string): string {
    return text.replaceAll(this.#staged, this.#target).replaceAll(this.to, this.#place);
  }

  async #end(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
    await this.#release();
  }
}

/** Restores a target that a killed edit had moved aside. @throws RldsError IO if another edit of the target is running */
export async function recover(path: string): Promise<void> {
  const target = resolve(path);
  if ((await exists(target)) || !(await exists(join(folderOf(target), OLD)))) return;
  const release = await locked(target);
  try {
    await restore(target);
  } finally {
    await release();
  }
}

function folderOf(target: string): string {
  return join(dirname(target), `${PREFIX}${basename(target)}-edit`);
}

async function restore(target: string): Promise<void> {
  const old = join(folderOf(target), OLD);
  if (!(await exists(target)) && (await exists(old))) await rename(old, target);
}

/** Locks a target, and creates the folder that contains it. @returns a function that releases the lock and removes the created folders if they are empty */
async function locked(target: string): Promise<() => Promise<void>> {
  const folder = dirname(target);
  const firstCreated = await mkdir(folder, { recursive: true });
  const release = await lockFile(`${folderOf(target)}-lock`);
  return async () => {
    release();
    for (let at = folder; firstCreated !== undefined && at.startsWith(firstCreated); at = dirname(at)) {
      const isRemoved = await rmdir(at).then(
        () => true,
        () => false,
      );
      if (!isRemoved) break;
    }
  };
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

/** Creates links to files instead of copying them, because writers replace files and never change them. If a file cannot be linked, it is copied. */
async function copyLinks(from: string, to: string): Promise<void> {
  const stat = await lstat(from);
  if (stat.isSymbolicLink()) return symlink(await readlink(from), to);
  if (!stat.isDirectory()) return stat.isFile() ? link(from, to).catch(() => copyFile(from, to)) : undefined;
  await mkdir(to);
  for (const name of await readdir(from)) if (!name.startsWith(PREFIX)) await copyLinks(join(from, name), join(to, name));
}

/** Syncs a folder, if the system supports it, so that the names in the folder survive a power failure. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
