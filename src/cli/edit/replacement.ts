/** A file or folder that is replaced as a whole: the new one is written next to it, and takes its place when it is complete. */
import { copyFile, link, lstat, mkdir, open, readdir, readlink, realpath, rename, rm, rmdir, symlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { attempt, lockFile } from "../program-parts.ts";

/** As the writers' own files that are not complete: no reader takes them for data. */
const PREFIX = ".incomplete-";
/** In the folder of an edit: what is written, and what stood in its place. */
const NEW = "new";
const OLD = "old";

interface Places {
  /** The folder that is written to, and the one that it stands for. */
  readonly to: string;
  readonly place: string;
  /** The new target in it. */
  readonly staged: string;
  /** All that is in the way of nobody. */
  readonly folder: string;
  readonly release: () => Promise<void>;
}

export class Replacement {
  /** The folder that is written to, in the place of the one that was named. */
  readonly to: string;
  readonly #place: string;
  readonly #target: string;
  readonly #staged: string;
  readonly #folder: string;
  readonly #release: () => Promise<void>;

  /**
   * Begins with a copy of the target, of links to its files: writers that would add to it find it there, and keep what is not theirs.
   * @param target the file or folder that is replaced; it need not exist @param below its path in `to`; empty for `to` itself
   * @throws RldsError IO where another edit is at work, or nothing can be written
   */
  static async begin(target: string, below: readonly string[]): Promise<Replacement> {
    const path = await realpath(target).catch(() => resolve(target));
    const folder = folderOf(path);
    return attempt(path, async () => {
      const stat = await lstat(path).catch(() => undefined);
      if (stat && !stat.isFile() && !stat.isDirectory()) throw new Error("a pipe or a device is in its place, which would be lost: write elsewhere");
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

  /** Puts the new one in place. A file is replaced by one call of the system; of a folder the old one moves aside, and is removed once the new one is there. */
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

  /** Removes what was written. Never fails: it follows a failure. */
  async discard(): Promise<void> {
    await this.#end().catch(() => {});
  }

  /** A text with the path of the target in the place of the one that is written. */
  named(text: string): string {
    return text.replaceAll(this.#staged, this.#target).replaceAll(this.to, this.#place);
  }

  async #end(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
    await this.#release();
  }
}

/** Puts back what a process that was killed between two calls has moved aside. */
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

/** @returns what lets go of the target, and removes folders that were made for nothing */
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

/** Files as further names of the same files: writers replace files, and never change one. */
async function copyLinks(from: string, to: string): Promise<void> {
  const stat = await lstat(from);
  if (stat.isSymbolicLink()) return symlink(await readlink(from), to);
  if (!stat.isDirectory()) return stat.isFile() ? link(from, to).catch(() => copyFile(from, to)) : undefined;
  await mkdir(to);
  for (const name of await readdir(from)) if (!name.startsWith(PREFIX)) await copyLinks(join(from, name), join(to, name));
}

/** The names in a folder outlast a power cut, where the system has that. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
