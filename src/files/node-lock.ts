/**
 * Who owns a folder: the file `lock.N` with the highest N says so, and stays when it lets go. The next owner makes `lock.N+1`, which only one can, and then
 * removes the ones before; there is always a highest one, so nobody can take a number again that was taken before. A file gets its name with its text in it: it is
 * drafted as `lock.of-ID`; the next owner removes a draft that a crash left behind.
 */
import { ReplayError } from "../base/error.ts";
import type { Builtins, Fs } from "./builtins.ts";
import { fateOf, type Holder, holderOf, ifExists, isOld, selfOf } from "./node-holder.ts";
import { randomId } from "./random-id.ts";

const LOCK = /^lock\.(\d+)$/;
const DRAFT = "lock.of-";
const TRIES = 16;

/** The owners in this process, by folder: of every copy of this module. */
const OWNERS = Symbol.for("reprise.storage.owners");
const shared = globalThis as { [OWNERS]?: Map<string, () => void> };
const owners = shared[OWNERS] ?? new Map<string, () => void>();
shared[OWNERS] = owners;

/** What a folder's owner has: a file that says so. */
export interface FolderLock {
  /** @throws ReplayError LOCKED where another process took it over; an error of code ESTALE where the folder is no more what it was */
  check(): void;
  release(): void;
}

/**
 * Takes a folder that is there.
 * @param takeOver whether also from a holder of whom nobody can tell whether it still runs
 * @throws ReplayError LOCKED
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
    // In place: so it is never empty, and a full disk has room for it.
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
      if (holder !== undefined && holder.pid !== 0) throw new ReplayError("LOCKED", `${folder} was taken over by ${nameOf(holder, self)}: open it again there`);
      throw Object.assign(new Error("the folder was renamed or replaced"), { code: "ESTALE" });
    },
  };
}

/** The highest number; 0 where there is none, or no such folder. */
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

/** The number that is ours. */
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
    // Whoever was faster by one removed the number that we then took.
    if (Math.max(...numbersIn(fs, folder)) > last + 1) {
      remove(`lock.${last + 1}`);
      continue;
    }
    for (const number of numbersIn(fs, folder)) if (number <= last) remove(`lock.${number}`);
    // Where the one who drafts is only slow, it does without.
    for (const name of fs.readdirSync(folder)) if (name.startsWith(DRAFT) && isOld(fs, `${folder}/${name}`)) remove(name);
    return last + 1;
  }
  throw new ReplayError("LOCKED", `other processes are opening ${folder}: try again`);

  /** Makes a file with its content at once, if there is none of the name: whether it did. */
  function create(number: number): boolean {
    const path = `${folder}/lock.${number}`;
    // No other thread or container that sees the folder has this name, though they may have our numbers.
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
    // Some file systems have no links: then there is a moment when the file is empty.
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
      // Somebody else did.
    }
  }
}

function lockedError(folder: string, number: number, holder: Holder, self: Holder, fate: "runs" | "unknown"): ReplayError {
  const ownerText = `${folder} is open in ${nameOf(holder, self)}${holder.since === undefined ? "" : ` since ${holder.since}`} (lock.${number})`;
  const unknown = "whether that still runs cannot be known here: if it does not, open with takeOver: true (reprise: --take-over)";
  return new ReplayError("LOCKED", `${ownerText}: ${fate === "runs" ? "close it there, or end that process" : unknown}`);
}

function nameOf({ pid, host, space }: Holder, self: Holder): string {
  if (host !== self.host) return `process ${pid} of ${host}`;
  if (space !== self.space) return `process ${pid} of another PID namespace`;
  return pid === self.pid ? "another thread of this process" : `process ${pid}`;
}
