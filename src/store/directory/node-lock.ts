/**
 * Who owns a folder: the file `lock.N` with the highest N says so, and stays when it lets go. The next owner makes `lock.N+1`, which only one can, and then
 * removes the ones before; there is always a highest one, so nobody can take a number again that was taken before.
 */
import { ReplayError } from "../../error.ts";
import type { Builtins } from "./builtins.ts";
import { type Holder, holderOf, isGone, selfOf } from "./node-holder.ts";

const LOCK = /^lock\.(\d+)$/;
const TRIES = 16;

/** The owners in this process, by folder: of every copy of this module. */
const OWNERS = Symbol.for("reprise.storage.owners");
const shared = globalThis as { [OWNERS]?: Map<string, () => void> };
const owners = shared[OWNERS] ?? new Map<string, () => void>();
shared[OWNERS] = owners;

/** Takes a folder that is there. @throws ReplayError LOCKED */
export function lockFolder(builtins: Builtins, folder: string, onTakeover: () => void): () => void {
  const key = builtins.fs.realpathSync(folder);
  owners.get(key)?.();
  const file = `${folder}/lock.${take(builtins, folder)}`;
  const release = () => {
    if (owners.get(key) !== owner) return;
    owners.delete(key);
    builtins.fs.writeFileSync(file, "{}");
  };
  const owner = () => {
    onTakeover();
    release();
  };
  owners.set(key, owner);
  return release;
}

/** The number that is ours. */
function take(builtins: Builtins, folder: string): number {
  const { fs, process } = builtins;
  const self = selfOf(builtins);
  const text = JSON.stringify(self);
  for (let i = 0; i < TRIES; i++) {
    const last = Math.max(0, ...numbers());
    if (last > 0) {
      const holder = holderOf(fs, `${folder}/lock.${last}`);
      if (holder === undefined) continue;
      if (!isGone(holder, self, builtins)) throw locked(folder, last, holder, self);
    }
    if (!create(last + 1)) continue;
    // Whoever was faster by one removed the number that we then took.
    if (Math.max(...numbers()) > last + 1) {
      remove(last + 1);
      continue;
    }
    for (const number of numbers()) if (number <= last) remove(number);
    return last + 1;
  }
  throw new ReplayError("LOCKED", `other processes are opening ${folder}: try again`);

  function numbers(): number[] {
    return fs.readdirSync(folder).map((name) => Number(LOCK.exec(name)?.[1] ?? 0));
  }

  /** Makes a file with its content at once, if there is none of the name: whether it did. */
  function create(number: number): boolean {
    const path = `${folder}/lock.${number}`;
    const draft = `${folder}/lock.of-${process.pid}`;
    try {
      fs.writeFileSync(draft, text);
      try {
        fs.linkSync(draft, path);
      } finally {
        fs.unlinkSync(draft);
      }
      return true;
    } catch (error) {
      if ((error as { code?: string }).code === "EEXIST") return false;
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

  function remove(number: number): void {
    try {
      fs.unlinkSync(`${folder}/lock.${number}`);
    } catch {
      // Somebody else did.
    }
  }
}

function locked(folder: string, number: number, { pid, host }: Holder, self: Holder): ReplayError {
  const who = pid === self.pid && host === self.host ? "another thread of this process" : `process ${pid}${host === self.host ? "" : ` of ${host}`}`;
  const remedy = `close it there or end that process; if there is none, remove ${folder}/lock.${number}`;
  return new ReplayError("LOCKED", `${folder} is open in ${who}: ${remedy}`);
}
