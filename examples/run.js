/** A run of a program that may be interrupted, and with a directory goes on when it is started again: with the same replay, and the fields that it named. */
import { setImmediate as turn } from "node:timers/promises";
import { Replay } from "reprise";
import { LocalClient } from "reprise/agents";
import "reprise/storage";

const [TURN, KEEP] = [16, 1000]; // ticks after which Ctrl-C is looked for, and after which all is on the disk

export class Run {
  interrupted = false; // by Ctrl-C
  #ticks = 0;
  #began;
  #kept; // what was kept last: {seconds, values by path}
  #program;
  #fields;

  /** Of `new Replay(options)` where there is no directory: then nothing is kept. */
  static async open(dir, options) {
    if (dir === undefined) return new Run(new Replay(options));
    try {
      return new Run(await Replay.open({ ...options, dir, durability: "manual" }));
    } catch (error) {
      if (error.code === "SPEC_MISMATCH") error.message = `what is there is another run: ${error.message}`;
      throw error;
    }
  }

  constructor(replay) {
    this.replay = replay;
    this.#kept = replay.journal?.kept;
    const writers = [...replay.writers];
    // Who asks for a writer gets the one that there was, in the middle of its episode.
    this.client = Object.assign(new LocalClient(replay), { writer: (options) => writers.shift() ?? replay.writer(options) });
    process.on("SIGINT", () => {
      this.interrupted = true;
    });
  }

  /** Begins, with those fields of the program that are kept, named by their paths. Says whether they were there: then they have their values again. */
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

  /** How long it has been going on, the time before interruptions included. */
  get seconds() {
    return performance.now() / 1000 - this.#began;
  }

  /** To be called and awaited after each step. */
  async tick() {
    if (this.#ticks % TURN === 0) await turn();
    if (this.#ticks++ % KEEP === 0) await this.keep();
  }

  /** When it resolves, this moment is on the disk; "manual" means that no later one is until the next call. */
  async keep() {
    if (this.replay.journal === undefined) return;
    const values = Object.fromEntries(this.#fields.map((field) => [field, at(this.#program, field.split("."))]));
    this.replay.journal.keep({ seconds: this.seconds, values });
    await this.replay.flush();
  }
}

const at = (program, path) => path.reduce((part, name) => part[name], program);
