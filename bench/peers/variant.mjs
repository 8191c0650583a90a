/** The process of one variant: it says what it is, then answers each number of operations by what they took, a line each. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Set-up of a memory of a million dicts takes its time. */
const READY_MS = 20 * 60_000;

export class Variant {
  /** Operations of a repetition. */
  n = 1;
  samples = [];
  #child;
  #answers;
  #errors = "";
  #waiting;

  /** @param command program, arguments and environment */
  constructor(one, { program, args, env = {} }) {
    this.one = one;
    // Whoever the reader of a closed program is, it is not asked again.
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (text) => (this.#errors = (this.#errors + text).slice(-4000)));
    this.#answers = createInterface({ input: this.#child.stdout });
    this.#answers.on("line", (line) => this.#waiting?.resolve(JSON.parse(line)));
    this.#child.on("error", (error) => this.#waiting?.reject(error));
    this.#child.on("close", (code) => this.#waiting?.reject(new Error(`ended with exit code ${code}\n${this.#errors}`)));
  }

  /** What it says of itself: `columns` and `memory`, or why it is `skipped`. */
  async ready() {
    const timer = setTimeout(() => this.end(), READY_MS);
    try {
      this.says = await this.#next();
    } catch (error) {
      this.says = { skipped: `failed: ${error.message.match(/^\w*Error.*$/m)?.[0] ?? error.message.slice(0, 200)}` };
    }
    clearTimeout(timer);
    if (this.says.skipped !== undefined) this.end();
    return this.says;
  }

  /** n operations: the answer, with the nanoseconds of one of them. */
  async repeat(n = this.n) {
    const answer = this.#next();
    this.#child.stdin.write(`${n}\n`);
    const { ns, ...rest } = await answer;
    return { ns: ns / n, ...rest };
  }

  end() {
    this.#child.stdin.end();
    this.#child.kill();
  }

  #next() {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }
}
