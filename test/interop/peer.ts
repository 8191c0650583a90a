/** Starts a real Reverb server in a separate process, and the Python client. */
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const python = process.env.REPRISE_REVERB_PYTHON;

export interface Peer {
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  /** Kills the server, without any cleanup, as in a power failure. */
  stop(): Promise<void>;
}

/**
 * Starts the server. @param tables in the format of server.py; default: the tables in server.py @param checkpoints the directory for checkpoints @throws Error
 * with the output if the server does not start
 */
export async function startServer(port = 0, tables?: readonly object[], checkpoints?: string): Promise<Peer> {
  const given = tables === undefined ? "" : JSON.stringify(tables);
  return await serving("server.py", String(port), given, ...(checkpoints === undefined ? [] : [checkpoints]));
}

/** Starts a server with another Python program in this folder. @throws Error with the output if the server does not start */
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

/** Runs reader.py and returns its output. @throws Error with the error output if it fails */
export function runPython(address: string, table: string, count: number, mode: "read" | "write"): string {
  const { status, stdout, stderr } = spawnSync(python as string, [join(import.meta.dirname, "reader.py"), address, table, String(count), mode], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/**
 * Freezes a server: its machine still responds, but the server does not. Resolves when all threads of the server have stopped, which may be some time after the
 * signal on a busy machine.
 */
export async function freeze({ pid }: Peer): Promise<void> {
  process.kill(pid, "SIGSTOP");
  const tasks = `/proc/${pid}/task`;
  const isStopped = () => {
    try {
      // The state follows the name, which is in brackets and may contain brackets.
      return readdirSync(tasks).every((task) => /^.*\) T/s.test(readFileSync(join(tasks, task, "stat"), "utf8")));
    } catch {
      // A thread exited in the meantime.
      return false;
    }
  };
  while (!isStopped()) await new Promise((resolve) => setTimeout(resolve, 1));
}
