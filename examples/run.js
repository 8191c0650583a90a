/** A run of a program that can be interrupted. With a directory, the next start continues it, with the same replay and the fields that the program names. */
import { setImmediate as turn } from "node:timers/promises";
import { Replay } from "reprise";
import { LocalClient } from "reprise/agents";

const [TURN, KEEP] = [16, 1000]; // ticks between checks for Ctrl-C, and between writes to disk

export class Run {
  interrupted = false; // by Ctrl-C
  #ticks = 0;
  #began;
  #kept; // the last kept value: {seconds, values by path}
  #program;
  #fields;

  /** Without a directory, uses `new Replay(options)` and keeps nothing. */
  static async open(dir, options) {
    if (dir === undefined) return new Run(new Replay(options));
    try {
      return new Run(await Replay.open({ ...options, dir, durability: "manual" }));
    } catch (error) {
      if (error.code === "SPEC_MISMATCH") error.message = `it contains another run: ${error.message}`;
      throw error;
    }
  }

  constructor(replay) {
    this.replay = replay;
    this.#kept = replay.journal?.kept;
    let writers = 0;
    // Names writers in the order in which the program makes them: after a restart each is the same one, in the middle of its episode.
    this.client = Object.assign(new LocalClient(replay), { writer: (options) => replay.writer({ name: `writer ${writers++}`, ...options }) });
    process.on("SIGINT", () => {
      this.interrupted = true;
    });
  }

  /** Starts the run. The named fields of the program are kept. Returns whether saved values existed, which are then restored. */
  resume(program, fields) {
    this.#program = program;
    this.#fields = fields;
    const { seconds = 0, values = {} } = this.#kept ?? {};
    for (const [field, value] of Object.entries(values)) {
      const path = field.split(".");
      const name = path.pop();
      at(program, path)[name] = value;
    }
    this.setUpSeconds = performance.now() / 1000;
    this.#began = this.setUpSeconds - seconds;
    return this.#kept !== undefined;
  }

  /** The duration of the run in seconds, including the time before interruptions. */
  get seconds() {
    return performance.now() / 1000 - this.#began;
  }

  /** Call and await it after each step. */
  async tick() {
    if (this.#ticks % TURN === 0) await turn();
    if (this.#ticks++ % KEEP === 0) await this.keep();
  }

  /** When it resolves, this moment is on disk. Because of "manual", no later moment is until the next call. */
  async keep() {
    if (this.replay.journal === undefined) return;
    const values = Object.fromEntries(this.#fields.map((field) => [field, at(this.#program, field.split("."))]));
    this.replay.journal.keep({ seconds: this.seconds, values });
    await this.replay.flush();
  }
}

const at = (program, path) => path.reduce((part, name) => part[name], program);
