/** Controls the process of one variant. The process describes itself, then responds to each number of operations with the time taken, one per line. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** The limit for a response, in milliseconds. Creating a buffer of a million dicts takes minutes. A process that takes longer than this hangs. */
const ANSWER_MS = 20 * 60_000;

export class Variant {
  /** The number of operations per repetition. */
  n = 1;
  samples = [];
  #child;
  #errors = "";
  #waiting;

  /** @param command the program, its arguments and its environment */
  constructor(one, { program, args, env = {} }) {
    this.one = one;
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
    // An error means that the process has ended, which `close` reports.
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (text) => {
      this.#errors = (this.#errors + text).slice(-4000);
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#waiting?.resolve(JSON.parse(line)));
    this.#child.on("error", (error) => this.#waiting?.reject(error));
    this.#child.on("close", (code, signal) => this.#waiting?.reject(new Error(this.#errors.match(/^\w*Error.*$/m)?.[0] ?? `ended with ${signal ?? code}`)));
  }

  /** Waits for the description of the variant: `columns` and `memory`, or the reason why it is `skipped`. */
  async ready() {
    this.says = {};
    await this.attempt(async () => {
      this.says = await this.#answer();
    });
    if (this.says.skipped !== undefined) this.end();
  }

  /** Does n operations. Returns the response, with the nanoseconds per operation. */
  async repeat(n = this.n) {
    this.#child.stdin.write(`${n}\n`);
    const { ns, ...rest } = await this.#answer();
    return { ns: ns / n, ...rest };
  }

  /** Runs some work with the variant. If that fails, the variant is skipped from then on. */
  async attempt(work) {
    if (this.says.skipped !== undefined) return;
    try {
      await work();
    } catch (error) {
      this.says = { skipped: `failed: ${error.message}` };
    }
  }

  end() {
    this.#child.stdin.end();
    this.#child.kill();
  }

  async #answer() {
    const timer = setTimeout(() => this.end(), ANSWER_MS);
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting = { resolve, reject };
      });
    } finally {
      clearTimeout(timer);
    }
  }
}
