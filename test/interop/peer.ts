/** Starts a real Reverb server in its own process, and the client of Python. */
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const python = process.env.REPRISE_REVERB_PYTHON;

export interface Peer {
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  /** Kills it, as a machine would that loses its power. */
  stop(): Promise<void>;
}

/** @param tables as server.py reads them; those that it has by itself where they are left out @param checkpoints its directory for these @throws Error where it does not start, with what it said */
export async function startServer(port = 0, tables?: readonly object[], checkpoints?: string): Promise<Peer> {
  const given = tables === undefined ? "" : JSON.stringify(tables);
  return await serving("server.py", String(port), given, ...(checkpoints === undefined ? [] : [checkpoints]));
}

/** The server of another program. */
export async function serving(program: string, ...args: string[]): Promise<Peer> {
  const child = spawn(python as string, [join(import.meta.dirname, program), ...args]);
  let said = "";
  child.stderr.on("data", (bytes) => {
    said += bytes;
  });
  const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  const told = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (bytes) => resolve(String(bytes)));
    child.on("exit", () => reject(new Error(`the server has ended: ${said}`)));
  });
  const stop = () => {
    child.kill("SIGKILL");
    return ended;
  };
  return { address: `127.0.0.1:${Number(told)}`, port: Number(told), pid: child.pid as number, stop };
}

/** Runs reader.py. @returns what it printed */
export function runPython(address: string, table: string, count: number, mode: "read" | "write"): string {
  const { status, stdout, stderr } = spawnSync(python as string, [join(import.meta.dirname, "reader.py"), address, table, String(count), mode], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/** Stops a server, so that its machine answers and it does not. A signal arrives later on a busy machine: it has stopped when each of its threads has. */
export async function freeze({ pid }: Peer): Promise<void> {
  process.kill(pid, "SIGSTOP");
  const tasks = `/proc/${pid}/task`;
  const isStopped = () => {
    try {
      // The state stands behind the name, which is in brackets and may have brackets in it.
      return readdirSync(tasks).every((task) => /^.*\) T/s.test(readFileSync(join(tasks, task, "stat"), "utf8")));
    } catch {
      // A thread has ended in between.
      return false;
    }
  };
  while (!isStopped()) await new Promise((resolve) => setTimeout(resolve, 1));
}
