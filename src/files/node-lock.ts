/**
 * Implements the lock of a folder. The file `lock.N` with the highest N names the owner, and stays after the release. The next owner creates `lock.N+1`, which
 * only one process can do, and then removes the earlier lock files. Since one lock file always exists, a number is never reused. If the file system has links,
 * a lock file never appears without its text, which is first written to a draft, `lock.of-ID`. The next owner removes drafts that a crash left.
 */
import { ReplayError } from "../base/error.ts";
import type { Builtins, Fs } from "./builtins.ts";
import { fateOf, type Holder, holderOf, ifExists, isOld, selfOf } from "./node-holder.ts";
import { randomId } from "./random-id.ts";

const LOCK = /^lock\.(\d+)$/;
const DRAFT = "lock.of-";
const TRIES = 16;

/** The key of a global map that all copies of this module share. For each folder that this process owns, the map has a function that ends the ownership. */
const OWNERS = Symbol.for("reprise.storage.owners");
const shared = globalThis as { [OWNERS]?: Map<string, () => void> };
const owners = shared[OWNERS] ?? new Map<string, () => void>();
shared[OWNERS] = owners;

/** A lock that this process has taken on a folder. */
export interface FolderLock {
  /** @throws ReplayError LOCKED if another process or thread took over the lock; an error with the code ESTALE if the folder has changed */
  check(): void;
  release(): void;
}

/**
 * Locks an existing folder.
 * @param takeOver whether to lock the folder even if Reprise cannot detect whether the holder still runs
 * @throws ReplayError LOCKED if another process or thread owns the folder, or if others keep opening it at the same time
 */
export function lockFolder(builtins: Builtins, folder: string, onTakeover: () => void, takeOver: boolean): FolderLock {
  const { fs } = builtins;
  const key = fs.realpathSync(folder);
  owners.get(key)?.();
  const self = selfOf(builtins);
  const text = JSON.stringify(self);
  const file = `${folder}/lock.${claimNumber(builtins, folder, self, text, takeOver)}`;
  const isOurs = () => ifExists(() => fs.readFileSync(file, "utf8")) === text;
  const release = () => {
    if (owners.get(key) !== owner) return;
    owners.delete(key);
    // The file is overwritten in place, so that the file is never empty, and a full disk has room for the new content.
    if (isOurs()) ifExists(() => fs.writeFileSync(file, "{}".padEnd(new TextEncoder().encode(text).length), { flag: "r+" }));
  };
  const owner = () => {
    onTakeover();
    release();
  };
  owners.set(key, owner);
  return {
    release,
    check: () => {
      if (isOurs()) return;
      const last = lastNumber(fs, folder);
      const holder = last > 0 ? holderOf(fs, `${folder}/lock.${last}`) : undefined;
      if (holder !== undefined && holder.pid !== 0)
        throw new ReplayError("LOCKED", `${folder} was taken over by ${nameOf(holder, self)}. Close it there, then open it again`);
      throw Object.assign(new Error("the folder was renamed or replaced"), { code: "ESTALE" });
    },
  };
}

/** Returns the highest number of a lock file; 0 if there is no lock file or no such folder. */
function lastNumber(fs: Fs, folder: string): number {
  try {
    return Math.max(0, ...numbersIn(fs, folder));
  } catch {
    return 0;
  }
}

function numbersIn(fs: Fs, folder: string): number[] {
  return fs.readdirSync(folder).map((name) => Number(LOCK.exec(name)?.[1] ?? 0));
}

/** Creates the lock file with the next number, removes earlier lock files and old drafts, and returns the number. */
function claimNumber(builtins: Builtins, folder: string, self: Holder, text: string, takeOver: boolean): number {
  const { fs } = builtins;
  for (let i = 0; i < TRIES; i++) {
    const last = Math.max(0, ...numbersIn(fs, folder));
    if (last > 0) {
      const holder = holderOf(fs, `${folder}/lock.${last}`);
      if (holder === undefined && !takeOver) continue;
      const fate = holder === undefined ? "unknown" : fateOf(holder, self, builtins);
      if (fate === "runs" || (fate === "unknown" && !takeOver)) throw lockedError(folder, last, holder as Holder, self, fate);
    }
    if (!create(last + 1)) continue;
    // A faster process may have removed the lock file whose number this process then took.
    if (Math.max(...numbersIn(fs, folder)) > last + 1) {
      remove(`lock.${last + 1}`);
      continue;
    }
    for (const number of numbersIn(fs, folder)) if (number <= last) remove(`lock.${number}`);
    // The writer of a removed draft may only be slow. In that case, its link fails, and it creates its lock file directly.
    for (const name of fs.readdirSync(folder)) if (name.startsWith(DRAFT) && isOld(fs, `${folder}/${name}`)) remove(name);
    return last + 1;
  }
  throw new ReplayError("LOCKED", `other processes are opening ${folder}. Try again`);

  /** Creates a lock file with its text, atomically if the file system has links. Returns false if a file with this number exists already. */
  function create(number: number): boolean {
    const path = `${folder}/lock.${number}`;
    // The name must be unique among all threads and containers that see the folder, which may share process ids.
    const draft = `${DRAFT}${randomId()}`;
    let isDrafted = false;
    try {
      fs.writeFileSync(`${folder}/${draft}`, text);
      isDrafted = true;
      fs.linkSync(`${folder}/${draft}`, path);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code === "EEXIST") return false;
      if (!isDrafted) throw error;
    } finally {
      remove(draft);
    }
    // The link failed, usually because the file system has no links. The lock file that is created here is empty for a moment.
    try {
      fs.writeFileSync(path, text, { flag: "wx" });
      return true;
    } catch (error) {
      if ((error as { code?: string }).code === "EEXIST") return false;
      throw error;
    }
  }

  function remove(name: string): void {
    try {
      fs.unlinkSync(`${folder}/${name}`);
    } catch {
      // Another process has removed the file, or this process may not remove it. A leftover draft or earlier lock file does no harm.
    }
  }
}

function lockedError(folder: string, number: number, holder: Holder, self: Holder, fate: "runs" | "unknown"): ReplayError {
  const ownerText = `${folder} is open in ${nameOf(holder, self)} (lock.${number}${holder.since === undefined ? "" : `, since ${holder.since}`})`;
  const unknown = "Reprise cannot tell whether that process still runs. If it has ended, pass takeOver: true";
  return new ReplayError("LOCKED", `${ownerText}. ${fate === "runs" ? "Close it there, or end that process" : unknown}`);
}

function nameOf({ pid, host, space }: Holder, self: Holder): string {
  if (host !== self.host) return `process ${pid} of ${host}`;
  if (space !== self.space) return `process ${pid} of another PID namespace`;
  return pid === self.pid ? "another thread of this process" : `process ${pid}`;
}
