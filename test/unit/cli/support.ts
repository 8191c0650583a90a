/** Runs the command line in tests. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, vi } from "vitest";
import { run } from "../../../src/cli/program.ts";
import { root } from "../../support/core.ts";
import { sparse, whole } from "../../support/size.ts";

export const CLI: string = join(root, "dist", "cli.js");
export const DATA: string = join(root, "test", "data");
export const HALF_CHEETAH: string = join(DATA, "tfds", "half_cheetah");
export const CARTPOLE: string = join(DATA, "tfds", "cartpole");
export const PIXELS: string = join(DATA, "tfds", "cartpole_pixels");

const VERSION: string = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let runs = 0;

/**
 * Runs the built program in a process of its own, as users do. Starting a process takes longer than most commands, so `npm test`, and all calls but every
 * fourth one under REPRISE_SPARSE=4, run the program's sources in this process.
 */
export async function reprise(...args: string[]): Promise<Run> {
  if (!whole || runs++ % sparse !== 0) return runHere(args);
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], { encoding: "utf8", cwd: root, maxBuffer: 1 << 28 });
  return { status, stdout, stderr };
}

async function runHere(args: readonly string[]): Promise<Run> {
  const said = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation(((text: string, done?: () => void) => {
      said[name] += text;
      done?.();
      return true;
    }) as typeof process.stdout.write),
  );
  try {
    return { status: await run(args, VERSION, join(root, "dist")), ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

type Parsed = ReturnType<typeof JSON.parse>;

/** Returns the JSON document of a call with --json; no other output is allowed. */
export async function document(...args: string[]): Promise<Parsed> {
  const { status, stdout, stderr } = await reprise(...args, "--json");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout);
}

/** Returns the error of a failed call: as one line on stderr, and as JSON on stdout. */
export async function failure(code: number, ...args: string[]): Promise<{ readonly line: string; readonly error: Parsed }> {
  const { status, stdout, stderr } = await reprise(...args, "--json");
  const { error } = JSON.parse(stdout);
  expect([status, stderr]).toEqual([code, `reprise: ${error.code}: ${error.message}\n`]);
  return { line: stderr.trimEnd(), error };
}

/** Creates a folder that is deleted after the tests; the returned function makes paths in it. */
export function temporary(): (...names: string[]) => string {
  const folder = mkdtempSync(join(tmpdir(), "reprise-cli-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (...names) => join(folder, ...names);
}

/** Runs a task while PATH, which lists the folders of programs, has another value. */
export async function withPath<T>(path: string, task: () => Promise<T>): Promise<T> {
  const { PATH } = process.env;
  process.env.PATH = path;
  try {
    return await task();
  } finally {
    process.env.PATH = PATH;
  }
}

export interface Server {
  readonly address: string;
  /** Resolves when a client requests one of the files that are never sent. */
  readonly held: Promise<void>;
  close(): void;
}

/** Serves the files of a folder over HTTP, except that requests for names that match `holds` are never answered. */
export async function serve(folder: string, holds: RegExp): Promise<Server> {
  let onHeld = () => {};
  const held = new Promise<void>((resolve) => {
    onHeld = resolve;
  });
  const server = createServer((request, response) => {
    const path = join(folder, decodeURIComponent(new URL(request.url as string, "http://localhost").pathname));
    if (holds.test(path)) return onHeld();
    if (!existsSync(path) || !statSync(path).isFile()) return response.writeHead(404).end();
    const { size } = statSync(path);
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    if (first === undefined) return createReadStream(path).pipe(response.writeHead(200, { "content-length": size }));
    const [start, end] = [Number(first), Math.min(size - 1, last ? Number(last) : size - 1)];
    response.writeHead(206, { "content-range": `bytes ${start}-${end}/${size}`, "content-length": end - start + 1 });
    return createReadStream(path, { start, end }).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}`,
    held,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Starts a process without waiting for it; returns the process and a promise of its result. */
export function started(...args: string[]): { readonly child: ChildProcess; readonly ended: Promise<Run & { readonly signal: NodeJS.Signals | null }> } {
  const child = spawn(process.execPath, [CLI, ...args], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Run & { readonly signal: NodeJS.Signals | null }>((resolve) => {
    child.on("close", (status, signal) => resolve({ status, signal, stdout, stderr }));
  });
  return { child, ended };
}
