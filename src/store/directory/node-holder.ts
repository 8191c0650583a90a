/** A process, so that another one can tell whether it still runs: numbers of processes come again. */
import type { Builtins, Fs } from "./builtins.ts";

export interface Holder {
  /** 0: nobody. */
  readonly pid: number;
  readonly host: string;
  /** When it started, in ticks since the machine did; where that can be known. */
  readonly start?: string | undefined;
  /** Which start of the machine that was, and in which space processes are numbered. */
  readonly boot?: string | undefined;
  readonly space?: string | undefined;
}

/** What takes a file without text to be written, at the most: then its writer is gone. */
const WRITING_MS = 10_000;
export function selfOf({ fs, os, process }: Builtins): Holder {
  const boot = known(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const space = known(() => fs.readlinkSync("/proc/self/ns/pid"));
  return { pid: process.pid, host: known(() => os.hostname()) ?? "", start: known(() => startOf(fs, process.pid)), boot, space };
}

/** Who wrote a lock file; undefined where the file is gone, or not written yet. */
export function holderOf(fs: Fs, path: string): Holder | undefined {
  let text: string;
  try {
    text = fs.readFileSync(path, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const holder = JSON.parse(text) as Partial<Holder>;
    return { ...holder, pid: holder.pid ?? 0, host: holder.host ?? "" };
  } catch {
    // Cut: its writer is at it, or was killed.
    return Date.now() - fs.statSync(path).mtimeMs > WRITING_MS ? { pid: 0, host: "" } : undefined;
  }
}

/** Whether a process has certainly ended. Where that cannot be known it has not. */
export function isGone(holder: Holder, self: Holder, builtins: Builtins): boolean {
  if (holder.pid === 0) return true;
  const sameBoot = holder.boot !== undefined && holder.boot === self.boot;
  if (!sameBoot && holder.host !== self.host) return false;
  if (!sameBoot && holder.boot !== undefined && self.boot !== undefined) return true;
  if (holder.space !== self.space) return false;
  if (self.start !== undefined && holder.start !== undefined) {
    try {
      return startOf(builtins.fs, holder.pid) !== holder.start;
    } catch (error) {
      return ["ENOENT", "ESRCH"].includes((error as { code?: string }).code ?? "");
    }
  }
  try {
    builtins.process.kill(holder.pid, 0);
    return false;
  } catch (error) {
    return (error as { code?: string }).code === "ESRCH";
  }
}

/** When a process started; "" where it has ended and waits to be buried. */
function startOf(fs: Fs, pid: number): string {
  // Its name may hold anything, brackets too.
  const [state, ...fields] = fs
    .readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return state === "Z" || state === "X" ? "" : (fields[18] ?? "");
}

function known<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
