// Starts servers for the rows of the table. All servers stop at the end of the run.
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";

const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill();
});

/** Starts a program that runs until it is killed. */
export function started(command, args, options) {
  const child = spawn(command, args, options);
  running.add(child);
  child.on("exit", () => running.delete(child));
  return child;
}

/**
 * Starts a server that prints its address. Returns the address, and the output so far. @throws Error with the output if the server exits or prints no address
 * within a minute
 */
export async function serving(command, args, { cwd, env = process.env }) {
  const child = started(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  const address = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no address after a minute\n${text}`)), 60_000);
    const hear = (bytes) => {
      text += stripVTControlCharacters(String(bytes));
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found === null) return;
      clearTimeout(late);
      resolve(found[0]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", () => reject(new Error(text)));
  });
  return { address, said: () => text, end: () => child.kill() };
}
