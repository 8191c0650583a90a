/** Runs real Reverb servers, all in one Python process (declared.py). A test declares their tables as in test/conformance/tfagents/README.md. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TableArgs } from "../conformance/case.ts";
import { python } from "./peer.ts";

type Answer = { readonly [name: string]: unknown };

/** Thrown if one of Python's constructors raises an error. */
export class Refused extends Error {
  /** The Python class of the error. */
  readonly type: string;

  constructor({ error, message }: Answer) {
    super(`${error}: ${message}`);
    this.type = String(error);
  }
}

export class DeclaredServers {
  readonly #child: ChildProcessWithoutNullStreams;
  /** The callers that wait for the next lines, in order. */
  readonly #waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = [];
  readonly #ended: Promise<void>;
  #said = "";

  constructor() {
    this.#child = spawn(python as string, [join(import.meta.dirname, "declared.py")]);
    this.#child.stderr.on("data", (bytes) => {
      this.#said = (this.#said + bytes).slice(-10_000);
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#waiting.shift()?.resolve(JSON.parse(line)));
    this.#ended = new Promise((resolve) => this.#child.on("exit", () => resolve()));
    this.#ended.then(() => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(`the servers' process has ended: ${this.#said}`));
    });
  }

  /** @throws Refused */
  async start(tables: readonly TableArgs[]): Promise<DeclaredServer> {
    const { id, port } = await this.ask({ do: "start", tables });
    return new DeclaredServer(this, id as number, port as number);
  }

  /** @throws Refused */
  async ask(what: Answer): Promise<Answer> {
    const answer = await new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(what)}\n`);
    });
    if (answer.error !== undefined) throw new Refused(answer);
    return answer;
  }

  end(): Promise<void> {
    this.#child.kill("SIGKILL");
    return this.#ended;
  }
}

export class DeclaredServer {
  readonly #all: DeclaredServers;
  readonly #id: number;
  #port: number;

  constructor(all: DeclaredServers, id: number, port: number) {
    this.#all = all;
    this.#id = id;
    this.#port = port;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Returns whether the rate limiter would let n more pass, which only the process of the server can check. */
  async can(what: "insert" | "sample", table: string, n: number): Promise<boolean> {
    return (await this.#all.ask({ do: `can_${what}`, id: this.#id, table, n })).value as boolean;
  }

  /** Restarts the server from a checkpoint on another port. @throws Refused */
  async restart(tables: readonly TableArgs[]): Promise<void> {
    this.#port = (await this.#all.ask({ do: "restart", id: this.#id, tables })).port as number;
  }

  async stop(): Promise<void> {
    await this.#all.ask({ do: "stop", id: this.#id });
  }
}
