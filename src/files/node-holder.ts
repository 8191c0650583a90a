/**
 * Identifies the holder of a folder: a thread of a process, recorded so that another process can tell whether it still runs. A process id is not enough,
 * because the system reuses the ids of processes and threads.
 */
import { type Builtins, type Fs, refusePipe } from "./builtins.ts";

export interface Holder {
  /** The process id; 0 if there is no holder. */
  readonly pid: number;
  readonly host: string;
  /** The start of the process in ticks since the machine's boot, if known. */
  readonly start?: string | undefined;
  /** The id of the machine's current boot, if known. */
  readonly boot?: string | undefined;
  /** The PID namespace of the process, if known. */
  readonly space?: string | undefined;
  /** The id of the thread, if known. The thread is recorded because a worker may end before its process. */
  readonly thread?: string | undefined;
  /** The start of the thread in ticks since the machine's boot, if known. */
  readonly threadStart?: string | undefined;
  /** The time at which the lock was taken, which is only shown in messages. The age of a lock does not matter. */
  readonly since?: string | undefined;
}

/** The time in milliseconds after which the writer of an incomplete lock file or draft is considered dead. */
const WRITING_MS = 10_000;

export function selfOf({ fs, os, process }: Builtins): Holder {
  const boot = tryRead(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const space = tryRead(() => fs.readlinkSync("/proc/self/ns/pid"));
  const thread = tryRead(() => fs.readlinkSync("/proc/thread-self").split("/").at(-1));
  return {
    pid: process.pid,
    host: tryRead(() => os.hostname()) ?? "",
    start: tryRead(() => startOf(fs, `${process.pid}`)),
    boot,
    space,
    thread,
    threadStart: tryRead(() => startOf(fs, `${process.pid}/task/${thread}`)),
    since: new Date().toISOString(),
  };
}

/**
 * Returns the holder that a lock file names; process 0 if the text is incomplete and its writer is considered dead; undefined if the file was removed or is
 * still being written.
 */
export function holderOf(fs: Fs, path: string): Holder | undefined {
  const text = ifExists(() => {
    refusePipe(fs, path);
    return fs.readFileSync(path, "utf8");
  });
  if (text === undefined) return undefined;
  try {
    const holder = JSON.parse(text) as Partial<Holder>;
    return { ...holder, pid: holder.pid ?? 0, host: holder.host ?? "" };
  } catch {
    // The file is incomplete, because its writer is still writing or was killed.
    return isOld(fs, path) ? { pid: 0, host: "" } : undefined;
  }
}

/** Returns whether a file was last changed more than `WRITING_MS` ago; false if the file was removed. */
export function isOld(fs: Fs, path: string): boolean {
  const stat = ifExists(() => fs.statSync(path));
  return stat !== undefined && Date.now() - stat.mtimeMs > WRITING_MS;
}

/** Returns the result of a call to a file; undefined if the file was removed. */
export function ifExists<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Returns whether a holder has certainly ended, certainly runs, or is in an unknown state. */
export function fateOf(holder: Holder, self: Holder, builtins: Builtins): "gone" | "runs" | "unknown" {
  if (holder.pid === 0) return "gone";
  const sameBoot = holder.boot !== undefined && holder.boot === self.boot;
  if (!sameBoot && holder.host !== self.host) return "unknown";
  if (!sameBoot && holder.boot !== undefined && self.boot !== undefined) return "gone";
  if (holder.space !== self.space) return "unknown";
  const { fs, process } = builtins;
  if (self.start !== undefined && holder.start !== undefined) {
    const fate = fateByStart(fs, `${holder.pid}`, holder.start);
    return fate !== "runs" || holder.thread === undefined ? fate : fateByStart(fs, `${holder.pid}/task/${holder.thread}`, holder.threadStart);
  }
  try {
    process.kill(holder.pid, 0);
    // A process with this id exists. It may be a later process with the same id, or the holder may have been another thread of this process.
    return "unknown";
  } catch (error) {
    return (error as { code?: string }).code === "ESRCH" ? "gone" : "unknown";
  }
}

/** Returns whether a process or thread with this start time still runs. @param number its path in `/proc`, such as "12" or "12/task/13" */
function fateByStart(fs: Fs, number: string, start: string | undefined): "gone" | "runs" | "unknown" {
  try {
    return startOf(fs, number) === start ? "runs" : "gone";
  } catch (error) {
    return ["ENOENT", "ESRCH"].includes((error as { code?: string }).code ?? "") ? "gone" : "unknown";
  }
}

/** Returns the start of a process or thread in ticks since the machine's boot; "" if it has ended but is still listed. */
function startOf(fs: Fs, number: string): string {
  // The name of the process is in parentheses and may itself contain parentheses, so the other fields start after the last one.
  const stat = fs.readFileSync(`/proc/${number}/stat`, "utf8");
  const [state, ...fields] = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  return state === "Z" || state === "X" ? "" : (fields[18] ?? "");
}

function tryRead<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
