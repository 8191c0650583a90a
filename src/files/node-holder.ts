/** Who holds a folder: a thread of a process, so that another one can tell whether it still runs. Numbers of processes and threads come again. */
import { type Builtins, type Fs, refusePipe } from "./builtins.ts";

export interface Holder {
  /** 0: nobody. */
  readonly pid: number;
  readonly host: string;
  /** When it started, in ticks since the machine did; where that can be known. */
  readonly start?: string | undefined;
  /** Which start of the machine that was, and in which space processes are numbered. */
  readonly boot?: string | undefined;
  readonly space?: string | undefined;
  /** The thread and its start, where they can be known: a worker may end without its process. */
  readonly thread?: string | undefined;
  readonly threadStart?: string | undefined;
  /** For people. How old a lock is decides nothing. */
  readonly since?: string | undefined;
}

/** What takes a file without text to be written, at the most: then its writer is gone. */
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

/** Who wrote a lock file; undefined where the file is gone, or not written yet. */
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
    // Cut: its writer is at it, or was killed.
    return isOld(fs, path) ? { pid: 0, host: "" } : undefined;
  }
}

/** Whether whoever wrote a file is at it no more; not where it is gone. */
export function isOld(fs: Fs, path: string): boolean {
  const stat = ifExists(() => fs.statSync(path));
  return stat !== undefined && Date.now() - stat.mtimeMs > WRITING_MS;
}

/** What a call to a file gives; undefined where somebody has removed it. */
export function ifExists<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Whether a holder has certainly ended, certainly runs, or neither can be known. */
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
    // Another process may have its number by now; and of this process another thread may have been it.
    return "unknown";
  } catch (error) {
    return (error as { code?: string }).code === "ESRCH" ? "gone" : "unknown";
  }
}

/** What became of what had a number, and started then. */
function fateByStart(fs: Fs, number: string, start: string | undefined): "gone" | "runs" | "unknown" {
  try {
    return startOf(fs, number) === start ? "runs" : "gone";
  } catch (error) {
    return ["ENOENT", "ESRCH"].includes((error as { code?: string }).code ?? "") ? "gone" : "unknown";
  }
}

/** When a process or a thread started; "" where it has ended and waits to be buried. */
function startOf(fs: Fs, number: string): string {
  // Its name may hold anything, brackets too.
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
