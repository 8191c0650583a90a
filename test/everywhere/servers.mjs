// Servers that a row starts: none outlives the run.
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";

const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill();
});

/** A program that goes on, until it is killed. */
export function started(command, args, options) {
  const child = spawn(command, args, options);
  running.add(child);
  child.on("exit", () => running.delete(child));
  return child;
}

/** A server that says where it listens, and the address. @throws Error with what it said, where it ends or says nothing for a minute */
export async function serving(command, args, { cwd, env = process.env }) {
  const child = started(command, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  const address = await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no address after a minute\n${text}`)), 60_000);
    child.stdout.on("data", (bytes) => {
      text += stripVTControlCharacters(String(bytes));
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found === null) return;
      clearTimeout(late);
      resolve(found[0]);
    });
    child.on("exit", () => reject(new Error(text)));
  });
  return { address, end: () => child.kill() };
}
